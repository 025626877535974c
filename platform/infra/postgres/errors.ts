/** Recognizes errors of Postgres. An error may come from the driver, or TypeORM may have wrapped it. */
import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';

/** @returns the five-character SQLSTATE of a failed statement, or undefined for any other error */
export function sqlStateOf(error: unknown): string | undefined {
  return causeOf(error)?.code;
}

/** @returns whether Postgres refuses the values of a row: invalid data (class 22), or a violated constraint (class 23) */
export function isRefusal(error: unknown): boolean {
  return /^2[23]/.test(sqlStateOf(error) ?? '');
}

/** @returns whether the statement failed because of this unique constraint or index */
export function violates(error: unknown, constraint: string): boolean {
  const cause = causeOf(error);
  return cause?.code === '23505' && cause.constraint === constraint;
}

function causeOf(error: unknown): DatabaseError | undefined {
  const cause = error instanceof QueryFailedError ? error.driverError : error;
  return cause instanceof DatabaseError ? cause : undefined;
}
