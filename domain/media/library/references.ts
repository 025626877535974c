/** References of the library to content on other sites. They are `ready` immediately, and have no bytes (MED-3, MED-9). */
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId } from '../../../platform/core/ids.ts';
import { hasVisible, tidyName } from '../../../platform/core/text/text.policy.ts';
import { Media } from '../../../entities/media/media.ts';
import { requireFolder } from './folders.ts';
import { findMedia, type LibraryReader } from './library.ts';
import type { LibraryDeps } from '../media.ts';
import { externalIdOf } from './references.policy.ts';

/**
 * Adds a reference from an id or a pasted address. The service does not fetch the address.
 * @throws DomainError invalid_request (the input is neither an id nor an address of the provider, or the title has no letter), not_found
 * (no such folder)
 */
export async function createReference(
  deps: LibraryDeps,
  reader: LibraryReader,
  input: RecordOf<'MediaReferenceCreation'>,
  now: Date,
): Promise<RecordOf<'Media'>> {
  const externalId = externalIdOf(input.provider, input.external_id);
  if (externalId === undefined)
    throw new DomainError('invalid_request', 'external_id is neither an id nor an address of this provider.');
  const title = tidyName(input.title);
  if (!hasVisible(title)) throw new DomainError('invalid_request', 'title must have a letter.');
  const id = newId();
  const { clubId } = reader;
  await deps.db.transaction(async (tx) => {
    if (input.folder_id !== undefined) await requireFolder(tx, clubId, input.folder_id);
    await tx.manager.insert(Media, {
      id,
      clubId,
      purpose: 'library',
      kind: input.provider === 'external' ? (input.kind ?? 'document') : 'video',
      title,
      provider: input.provider,
      status: 'ready',
      externalId,
      folderId: input.folder_id ?? null,
      createdAt: now,
      updatedAt: now,
    });
  });
  return findMedia(deps, reader, id);
}
