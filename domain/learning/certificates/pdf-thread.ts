/** The worker thread of pdf-work.ts. It draws certificates. */
import { serveThread } from '../../../platform/infra/threads/thread-work.ts';
import { certificatePdf, type Printed } from './pdf.ts';

serveThread(async (data) => ({ bytes: new Uint8Array(await certificatePdf(data as Printed)) }));
