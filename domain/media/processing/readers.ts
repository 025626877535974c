/** What opens files as they were uploaded: in threads and processes of their own, within bounds. */
import { drawFirstPage } from '../../../platform/infra/images/page.ts';
import { shrinkImage } from '../../../platform/infra/images/shrink.ts';
import { identify } from './identification.ts';

export const fileReaders = { identify, shrinkImage, drawFirstPage };
export type FileReaders = Readonly<typeof fileReaders>;
