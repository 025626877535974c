import { readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../../../dev/project.ts';

export interface PageSample {
  /** The name that the first line gives, as in `// grant.ts`, or a number. */
  readonly file: string;
  readonly code: string;
}

export function samplesOf(page: string): PageSample[] {
  const text = readFileSync(path.join(projectDirectory, page), 'utf8');
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ''], index) => {
    const [, file = `sample-${index + 1}.ts`] = /^\/\/ ([\w-]+\.ts)\n/.exec(code) ?? [];
    return { file, code };
  });
}
