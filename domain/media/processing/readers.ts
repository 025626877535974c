/** What opens files as they were uploaded: in threads and processes of their own, within bounds. */
import { makeMailPicture } from '../../../platform/infra/images/mail-picture.ts';
import { drawFirstPage } from '../../../platform/infra/images/page.ts';
import { shrinkImage } from '../../../platform/infra/images/shrink.ts';
import { identify } from './identification.ts';

export const fileReaders = { identify, shrinkImage, makeMailPicture, drawFirstPage };
export type FileReaders = Readonly<typeof fileReaders>;
