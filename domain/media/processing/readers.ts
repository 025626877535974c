/** The functions that open uploaded files. They run in separate threads and processes with limits. */
import { makeMailPicture } from '../../../platform/infra/images/mail-picture.ts';
import { drawFirstPage } from '../../../platform/infra/images/page.ts';
import { shrinkImage } from '../../../platform/infra/images/shrink.ts';
import { identify } from './identification.ts';

export const fileReaders = { identify, shrinkImage, makeMailPicture, drawFirstPage };
export type FileReaders = Readonly<typeof fileReaders>;
