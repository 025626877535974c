/** Reads archives with Python's zipfile as an independent check, if this machine has Python 3. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { examples, whyMissing } from '../stack/example-receiver.ts';

const python = examples.find(({ tool }) => tool === 'python3');

/** Undefined if Python 3 is installed. */
export const whyNoPython = python && whyMissing(python);

/** @param script prints JSON; `sys.argv[1]` is the path of the archive @returns its output */
export async function askPython(archive: string, script: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)('python3', ['-c', `import json, sys, zipfile\n${script}`, archive]);
  return JSON.parse(stdout);
}
