/**
 * Describes an error for the log: its kind, its code and the stack location. The message is never logged, because it can quote a row or a
 * request.
 */
import { QueryFailedError } from 'typeorm';

export interface DescribedError {
  name: string;
  /**
   * An SQLSTATE, the code of a system call, the status of a protocol, or an error code of this program; otherwise the code of the cause.
   */
  code?: string;
  constraint?: string;
  /** The innermost call first. */
  frames: string[];
}

export function describeError(error: unknown): DescribedError {
  if (!(error instanceof Error)) return { name: typeof error, frames: [] };
  const details = (error instanceof QueryFailedError ? error.driverError : error) as {
    code?: unknown;
    constraint?: unknown;
  };
  const code = codeOf(details);
  return {
    name: error.name,
    ...(code !== undefined && { code }),
    ...(typeof details.constraint === 'string' && { constraint: details.constraint }),
    frames: (error.stack ?? '')
      .split('\n')
      .filter((line) => /^\s+at /.test(line))
      .slice(0, 12)
      .map((line) => line.trim().split(' ').map(shortPlace).join(' ')),
  };
}

/** The first code in the chain of causes. An SMTP error has two codes: the client's code, and the number in the server's reply. */
function codeOf(error: unknown, depth = 0): string | undefined {
  if (typeof error !== 'object' || error === null || depth > 5) return undefined;
  const { code, responseCode, cause } = error as { code?: unknown; responseCode?: unknown; cause?: unknown };
  const codes = [code, responseCode].filter((one) => typeof one === 'string' || typeof one === 'number');
  return codes.length > 0 ? codes.join(' ') : codeOf(cause, depth + 1);
}

/** The folders before them would show where the project is installed. */
const foldersNamed = 3;

/** @returns a file location such as `(file:///a/b/c.ts:1:2)` without the beginning of its path */
function shortPlace(word: string): string {
  const [, path, place] = /^([^:]*(?::\/\/[^:]*)?)(:\d+:\d+)\)?$/.exec(word) ?? [];
  if (path === undefined || place === undefined || !path.includes('/')) return word;
  return (
    path
      .split('/')
      .slice(-1 - foldersNamed)
      .join('/') + place
  );
}
