/**
 * Lets another process control the fake model, at these paths of the model's port:
 *
 * PUT    /control/next      [script, …]                          scripts for the next requests
 * PUT    /control/rules     [{"contains": words, "script": …}, …] scripts for questions that contain the words
 * GET    /control/requests  the received requests, and the sent events with their times
 * DELETE /control           forgets all of it
 *
 * A rule without words applies to all questions. A call is answered with 204, or with 200 and JSON. A script that is no object is refused,
 * and so is an unknown path.
 */
import type { ServerResponse } from 'node:http';
import type { Rule, Script } from './script.ts';
import type { SeenRequest } from './seen.ts';

export interface ControlRule {
  readonly contains?: string;
  readonly script: Script;
}

export interface Controlled {
  readonly requests: readonly SeenRequest[];
  next(...scripts: readonly Script[]): void;
  rule(rule: Rule | undefined): void;
  reset(): void;
}

/** @param call method and path @param text the body */
export function control(model: Controlled, call: string, text: string, response: ServerResponse): void {
  if (call === 'GET /control/requests') {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(model.requests));
    return;
  }
  response.writeHead(obey(model, call, text) ? 204 : 400).end();
}

function obey(model: Controlled, call: string, text: string): boolean {
  if (call === 'DELETE /control') {
    model.reset();
    return true;
  }
  const list = listIn(text);
  if (list === undefined) return false;
  if (call === 'PUT /control/next') {
    model.next(...(list as Script[]));
    return true;
  }
  if (call !== 'PUT /control/rules') return false;
  const rules = list as ControlRule[];
  model.rule((_, question) => rules.find(({ contains }) => !contains || question.includes(contains))?.script);
  return true;
}

function listIn(text: string): object[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((item) => typeof item === 'object' && item !== null) ? list : undefined;
  } catch {
    return undefined;
  }
}
