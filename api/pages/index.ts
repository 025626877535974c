/** Every page by the operationId of what it draws. */
import type { HtmlPages } from '../page.ts';
import { certificatePage } from './certificate.ts';

export const pages: HtmlPages = { verifyCertificate: certificatePage };
