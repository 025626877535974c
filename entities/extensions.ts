/** Extensions of Postgres that the schema needs. */
import type { QueryRunner } from 'typeorm';

/**
 * Creates an extension if it does not exist yet.
 * @throws Error with instructions if this Postgres does not have the extension, or if our role has no permission to create it
 */
export async function requireExtension(queryRunner: QueryRunner, name: string): Promise<void> {
  await queryRunner.query(`CREATE EXTENSION IF NOT EXISTS "${name}"`).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `The schema needs the extension ${name} of Postgres. Install it on the database server (it comes ` +
        `with Postgres, in its contrib package), or let an administrator run CREATE EXTENSION ${name} in this database. ` +
        `Postgres says: ${reason}`,
      { cause: error },
    );
  });
}
