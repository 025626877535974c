/** Recognizes errors of Postgres, directly from the driver or wrapped by TypeORM. */
import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';

/** @returns undefined for any other error */
export function sqlStateOf(error: unknown): string | undefined {
  return causeOf(error)?.code;
}

/** @returns whether Postgres refused the data (class 22), or a constraint was violated (class 23) */
export function isRefusal(error: unknown): boolean {
  return /^2[23]/.test(sqlStateOf(error) ?? '');
}

export function violates(error: unknown, constraint: string): boolean {
  const cause = causeOf(error);
  return cause?.code === '23505' && cause.constraint === constraint;
}

function causeOf(error: unknown): DatabaseError | undefined {
  const cause = error instanceof QueryFailedError ? error.driverError : error;
  return cause instanceof DatabaseError ? cause : undefined;
}
