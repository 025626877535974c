#!/usr/bin/env node
/** The program `club-learning`: gives the process to the commands. */
import { main } from './main.ts';

const ending = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => ending.abort(new Error(`The program got ${name}.`)));

// A reader such as `head` may close the output early, and needs no further lines.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exitCode = 0;
  ending.abort(error);
});

process.exitCode = await main(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  error: (text) => process.stderr.write(text),
  get stdin() {
    return process.stdin;
  },
  env: process.env,
  signal: ending.signal,
});
