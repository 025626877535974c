/** The bundled contract, read once; the only place that reads `generated/openapi.json` while the service runs. */
import { readFileSync } from 'node:fs';
import type { ContractDocument } from './openapi.ts';

/** The contract as its bytes are served by `GET /v1/openapi.json`. */
export const contractText: string = readFileSync(new URL('generated/openapi.json', import.meta.url), 'utf8');

export const contractDocument: ContractDocument = JSON.parse(contractText);
