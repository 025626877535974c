/** A record type of an export. */
import type { components } from '../../../contract/generated/types.ts';
import type { Walk } from './pages.ts';

export interface RecordType {
  /** The name of the schema in the contract, and of the file in the archive. */
  name: keyof components['schemas'];
  walk: Walk;
}
