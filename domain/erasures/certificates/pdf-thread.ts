/** The worker thread of pdf-work.ts. It draws certificates of erasure. */
import { serveThread } from '../../../platform/infra/threads/thread-work.ts';
import type { SignedCertificate } from './certificates.ts';
import { erasurePdf } from './pdf.ts';

serveThread(async (data) => ({ bytes: new Uint8Array(await erasurePdf(data as SignedCertificate)) }));
