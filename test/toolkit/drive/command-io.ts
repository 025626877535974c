/** A process for the commands of the SDK that keeps what the command writes. */
import { Readable } from 'node:stream';
import type { CommandIo } from '../../../sdk/src/commands/command.ts';

interface RecordedIo extends CommandIo {
  /** Everything that the command wrote so far. */
  readonly written: { out: string; error: string };
  /** Aborts the signal of the command, as Ctrl-C does. */
  end(): void;
}

/** @param env the only variables of the process @param stdin its input; empty if absent */
export function recordedIo(env: Readonly<Record<string, string>> = {}, stdin = Readable.from([])): RecordedIo {
  const written = { out: '', error: '' };
  const ending = new AbortController();
  return {
    written,
    env,
    stdin,
    signal: ending.signal,
    out: (text) => void (written.out += text),
    error: (text) => void (written.error += text),
    end: () => ending.abort(new Error('The test ended the command.')),
  };
}
