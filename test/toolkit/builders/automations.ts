/** Builds published automations in clubs that have a sender. */
import { createAutomation, updateAutomation } from '../../../domain/automations/versions/drafts.ts';
import type { Definition } from '../../../domain/automations/versions/definition.policy.ts';
import { publishAutomation } from '../../../domain/automations/versions/publishing.ts';
import { setSender } from '../../../domain/mail/sending/sender.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { testDatabase, testDeps } from '../stack/database.ts';

const definitionOf = (parts: Partial<Definition>): Definition => ({
  trigger: { kind: 'manual' },
  reentry: 'always',
  exit_on_access_lost: false,
  steps: [],
  ...parts,
});

export const email = {
  subject: 'Hi {{student_first_name|you}}',
  blocks: [{ kind: 'heading' as const, text: 'Ahoy' }],
};

/** Publishes an automation without images, because the test has no store. */
const withoutImages = undefined as never;

export async function buildAutomation(clubId: Id, parts: Partial<Definition>, now: Date): Promise<Id> {
  const deps = await testDeps();
  const mails = JSON.stringify(parts).includes('send_email');
  if (mails) await setSender(deps, clubId, { from_name: 'Knots & Co', postal_address: 'Quay 1' }, now);
  const draft = definitionOf(parts) as never;
  const { record } = await createAutomation(deps, clubId, { name: 'Welcome', draft }, now);
  await publishAutomation({ ...deps, images: withoutImages }, clubId, record.id, '*', now);
  return record.id;
}

/** Publishes another version. */
export async function buildVersion(clubId: Id, automationId: Id, parts: Partial<Definition>, now: Date): Promise<void> {
  const deps = await testDeps();
  await updateAutomation(deps, clubId, automationId, { draft: definitionOf(parts) as never }, '*', now);
  await publishAutomation({ ...deps, images: withoutImages }, clubId, automationId, '*', now);
}

export async function buildTag(clubId: Id, name = `Tag ${newId()}`): Promise<Id> {
  const id = newId();
  await (
    await testDatabase()
  ).query(`INSERT INTO tags (id, club_id, name, folded_name, created_at) VALUES ($1, $2, $3, lower($3), now())`, [
    id,
    clubId,
    name,
  ]);
  return id;
}
