/** The bundled contract. Only this file reads `generated/openapi.json` at run time, and only once. */
import { readFileSync } from 'node:fs';
import type { ContractDocument } from './openapi.ts';

/** The bytes of the contract that `GET /v1/openapi.json` returns. */
export const contractText: string = readFileSync(new URL('generated/openapi.json', import.meta.url), 'utf8');

export const contractDocument: ContractDocument = JSON.parse(contractText);
