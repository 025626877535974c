/** What of an error may be logged: its kind, its code and where it arose; never its message, which can quote a row or a request. */
import { QueryFailedError } from 'typeorm';

export interface DescribedError {
  name: string;
  /** SQLSTATE, a system call's code, or a code of ours. */
  code?: string;
  constraint?: string;
  /** Where it arose, innermost first. */
  frames: string[];
}

export function describeError(error: unknown): DescribedError {
  if (!(error instanceof Error)) return { name: typeof error, frames: [] };
  const details = (error instanceof QueryFailedError ? error.driverError : error) as {
    code?: unknown;
    constraint?: unknown;
  };
  return {
    name: error.name,
    ...(typeof details.code === 'string' && { code: details.code }),
    ...(typeof details.constraint === 'string' && { constraint: details.constraint }),
    frames: (error.stack ?? '')
      .split('\n')
      .filter((line) => /^\s+at /.test(line))
      .map((line) => line.trim().replace(/\(?(?:file:\/\/)?\/\S*?((?:[\w.@-]+\/){0,3}[\w.@-]+:\d+:\d+)\)?/, '$1'))
      .slice(0, 12),
  };
}
