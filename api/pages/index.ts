/** Every page by the operationId of what it draws. */
import type { Pages } from '../page.ts';
import { certificatePage } from './certificate.ts';

export const pages: Pages = { verifyCertificate: certificatePage };
