/** Tells a client how to upload a file: the address of its bytes, and the headers of the requests (MED-12). */
import type { RecordOf } from '../../../contract/contract.ts';
import type { MediaPurpose } from '../../../entities/media/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { uploadWay } from '../media.policy.ts';
import { uploadToken } from './tokens.ts';

/** The path on the file listener to which clients upload files. */
export const uploadsPath = '/uploads';

interface DescriptorDeps {
  storage: Pick<ObjectStore, 'signPut'>;
  vault: Vault;
  /** The public address of the file listener, without a slash at the end. */
  filesUrl: string;
}

interface UploadingFile {
  id: Id;
  objectKey: string | null;
  purpose: MediaPurpose;
  mime: string | null;
  /** In bytes. The bucket's signed address accepts only a file of this size. */
  heldBytes: number;
}

/** @param expiresAt the time at which the address or token expires */
export async function descriptorOf(
  { storage, vault, filesUrl }: DescriptorDeps,
  { id, objectKey, purpose, mime, heldBytes }: UploadingFile,
  expiresAt: Date,
  now: Date,
): Promise<RecordOf<'UploadDescriptor'>> {
  if (objectKey === null || mime === null)
    throw new Error(`File ${id} cannot be uploaded because it has no key or no type`);
  const expires_at = expiresAt.toISOString();
  const way = uploadWay(purpose, mime);
  if (way === 'bucket') {
    const seconds = Math.ceil((expiresAt.getTime() - now.getTime()) / 1_000);
    return { method: 'put', ...(await storage.signPut(objectKey, mime, heldBytes, seconds)), expires_at };
  }
  const authorization = `Bearer ${uploadToken(vault, { mediaId: id, expiresAt })}`;
  const url = `${filesUrl}${uploadsPath}`;
  return way === 'tus'
    ? { method: 'tus', url, headers: { authorization }, expires_at }
    : { method: 'put', url: `${url}/${id}`, headers: { authorization, 'content-type': mime }, expires_at };
}
