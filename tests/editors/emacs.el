;;; Run by test_emacs.py: `emacs --batch -l emacs.el FILE`, with eglot as docs/editor.md sets it up.
;; What a person does by keys is done here by the commands behind them.

(require 'eglot)
(require 'flymake)

(add-to-list 'eglot-server-programs '((c-mode python-mode) . ("polylsp" "serve")))
(setq eglot-sync-connect 60
      eglot-autoshutdown t
      eglot-confirm-server-initiated-edits nil)

(defun say (&rest words) (princ (concat (mapconcat #'identity words " ") "\n")))

(defun wait (what condition)
  "Wait until CONDITION holds; the limit is for what never comes."
  (let ((tries 0))
    (while (and (< tries 6000) (not (funcall condition)))
      (setq tries (1+ tries))
      (accept-process-output nil 0.05))
    (say (if (funcall condition) "ok" "FAIL") what)
    (unless (funcall condition) (kill-emacs 1))))

(defun finding (text)
  "Whether a finding has TEXT."
  (seq-some (lambda (each) (string-match-p text (flymake-diagnostic-text each)))
            (flymake-diagnostics)))

;; The editor asks which one; here the answer is known.
(defun choose (title)
  "Take the code action with TITLE at point."
  (cl-letf ((last-nonmenu-event t) ; chosen by keys, not from a menu
            ((symbol-function 'completing-read)
             (lambda (_prompt items &rest _)
               (or (car (seq-find (lambda (each) (equal (if (consp each) (car each) each) title)) items))
                   (progn (say "FAIL" (format "no such action in %S" (mapcar #'car items)))
                          (kill-emacs 1))))))
    (eglot-code-actions (point) (point) nil t)))

(find-file (pop command-line-args-left))
(eglot-ensure)
(run-hooks 'post-command-hook) ; batch mode has no commands
(wait "the server is connected" #'eglot-current-server)
(flymake-mode 1)
(flymake-start)
(wait "a parallel loop is found" (lambda () (finding "can run in parallel")))

(goto-char (point-min))
(search-forward "B[i] = ")
(search-backward "for (")
(choose "Run `i` in parallel with OpenMP (starts threads in each iteration of `t`)")
(wait "an action writes a directive"
      (lambda () (save-excursion (forward-line -1) (looking-at " *#pragma omp parallel for"))))
(save-buffer)
(say "ok" "saved")
(kill-emacs 0)
