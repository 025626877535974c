/** The contract itself, for programs. */
import { contractText } from '../../contract/contract.ts';
import type { Operation } from '../operation.ts';

export const getContract: Operation<'getContract'> = async () => contractText as never;
