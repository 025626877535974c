/** The contract itself, for programs. */
import { contractText } from '../../contract/contract.ts';
import type { Operation } from '../operation.ts';

export const getContract: Operation<'getContract'> = async () => JSON.parse(contractText) as never;
