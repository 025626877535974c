/** What domain functions need of the process that they run in, beside their arguments. */
import type { Database } from './database.ts';
import type { Vault } from './secrets.ts';

export interface Platform {
  database: Database;
  vault: Vault;
}
