"""Makes the one context the current one."""

from pycuda.driver import Context, may_fail

may_fail()
Context.current = Context()
