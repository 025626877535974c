/** Reads the requests in a page of the documentation. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../../dev/project.ts';

export interface PageExample {
  method: string;
  /** The path, with placeholders such as `{clubId}`. */
  path: string;
  /** JSON, or the lines of a file. */
  body?: string;
}

/** @param file such as `docs/how-to/send-mail.md` @returns its text */
export const readPage = (file: string): string => readFileSync(path.join(projectDirectory, file), 'utf8');

export const blocksOf = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block);

/** @returns the requests of a page in order. A code block of `http` contains one request with a body, or several requests without a body */
export const examplesOf = (text: string): PageExample[] => blocksOf(text, 'http').flatMap(examplesIn);

function examplesIn(block: string): PageExample[] {
  const [lines = '', ...body] = block.split('\n\n');
  return lines
    .trim()
    .split('\n')
    .map((line) => {
      const [, method = '', at = ''] = /^([A-Z]+) (\/\S+)$/.exec(line) ?? [];
      return { method, path: at, ...(body.length > 0 && { body: body.join('\n\n') }) };
    });
}

export const filledIn = (text: string, known: ReadonlyMap<string, string>): string =>
  text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => known.get(name) ?? whole);
