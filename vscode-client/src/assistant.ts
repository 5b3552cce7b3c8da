// Tools for VS Code's language models: those of `polylsp mcp`, called by the server; VS Code asks the person first
// where a tool writes files or runs programs.

import * as vscode from 'vscode';

import type { Server } from './server';
import { consentTo, type Input } from './text';

/** The server's command. */
const CALL = 'polylsp.tool';
const PREFIX = 'polylsp_';

/** What VS Code has of tools; the oldest that the extension is for has none of it. */
interface Tool {
  prepareInvocation(options: { readonly input: Input }): unknown;
  invoke(options: { readonly input: Input }, token: vscode.CancellationToken): Promise<unknown>;
}
interface Models {
  registerTool?(name: string, tool: Tool): vscode.Disposable;
}
interface Results {
  readonly LanguageModelToolResult: new (parts: readonly unknown[]) => unknown;
  readonly LanguageModelTextPart: new (text: string) => unknown;
}

interface Answer {
  readonly answer?: string;
  readonly reason?: string;
}

/** Register the tools that the manifest names; none where VS Code has no language models, or other ones. */
export function registerTools(context: vscode.ExtensionContext, server: Server): vscode.Disposable[] {
  const models = (vscode as { lm?: Models }).lm;
  if (typeof models?.registerTool !== 'function') {
    return [];
  }
  const named: readonly { readonly name: string }[] = context.extension.packageJSON.contributes.languageModelTools;
  try {
    return named.map(({ name }) => models.registerTool!(name, toolOf(server, name.slice(PREFIX.length))));
  } catch (error) {
    server.log.info(`No tools for language models: ${error instanceof Error ? error.message : String(error)}`);
    return [];
  }
}

function toolOf(server: Server, tool: string): Tool {
  return {
    prepareInvocation({ input }) {
      const consent = consentTo(tool, input);
      const confirmationMessages = consent && { title: consent.title, message: new vscode.MarkdownString(consent.message) };
      return { invocationMessage: `polylsp ${tool}`, confirmationMessages };
    },
    async invoke({ input }, token) {
      const client = await server.ready(token);
      if (!client) {
        throw new Error('The polylsp server does not run: its item in the status bar says why.');
      }
      // VS Code has asked by now.
      const consents = { write: tool === 'apply' && input.write === true, measure: tool === 'measure' };
      const params = { command: CALL, arguments: [{ tool, arguments: input, ...consents }] };
      const found = await client.sendRequest<Answer | null>('workspace/executeCommand', params, token);
      if (typeof found?.answer !== 'string') {
        throw new Error(found?.reason ?? 'The server has no answer.');
      }
      const { LanguageModelToolResult, LanguageModelTextPart } = vscode as unknown as Results;
      return new LanguageModelToolResult([new LanguageModelTextPart(found.answer)]);
    },
  };
}
