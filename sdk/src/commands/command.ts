/** The interface between the program `club-learning` and its commands (SDK-9). */
import type { Readable } from 'node:stream';

/** The parts of the process that a command uses. Tests give their own. */
export interface CommandIo {
  /** Writes to the standard output, without a line end of its own. Only results go here, so that another program can read them. */
  readonly out: (text: string) => void;
  /** Writes to the standard error: progress, hints and problems. */
  readonly error: (text: string) => void;
  readonly stdin: Readable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts when the person ends the program, for example with Ctrl-C. */
  readonly signal: AbortSignal;
}

/**
 * Runs a command to its end.
 * @param args the arguments after the name of the command
 * @returns the exit code: 0 for success, 1 if the command found or met a failure, 2 if it was started wrongly
 * @throws UsageError if the arguments or the environment are wrong; CommandFailure if the command cannot go on
 */
export type RunCommand = (args: readonly string[], io: CommandIo) => Promise<number>;

export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** The text that `--help` prints. */
  readonly usage: string;
  /** Loads the command. Each command is a module of its own, so that one command does not load the packages of another one. */
  readonly load: () => Promise<RunCommand>;
}

/** The program was started wrongly: exit code 2. The message says what is wrong and what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command cannot go on: exit code 1. The message is for the person, and needs no stack. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}
