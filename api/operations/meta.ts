/** Returns the contract of the API itself, so that programs can read it. */
import { contractText } from '../../contract/contract.ts';
import type { Operation } from '../operation.ts';

export const getContract: Operation<'getContract'> = async () => contractText as never;
