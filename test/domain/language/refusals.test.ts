/** Tests refusals that students read (DEC-188). */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { contractOperations } from '../../../contract/contract.ts';
import { projectDirectory } from '../../../dev/project.ts';
import { offeredLanguages } from '../../../domain/language/languages.ts';
import { minutesOf, RefusalToPerson } from '../../../domain/language/refusal.ts';
import type { ErrorCode } from '../../../platform/core/error-codes.ts';

/** These messages are for the programmer of a client. */
const forProgrammers: ReadonlySet<string> = new Set<ErrorCode>([
  'malformed_request',
  'invalid_request',
  'unsupported_media_type',
  'body_too_large',
  'forbidden',
  'role_not_permitted',
  'message_exists',
  'post_exists',
  'scope_not_granted',
  'invalid_cursor',
  'idempotency_key_reused',
  'request_in_progress',
  'result_removed',
]);
/** The error mapper chooses the texts of these codes, so the layers that throw the codes need no texts. */
const byCode: ReadonlySet<string> = new Set<ErrorCode>(['unauthenticated', 'not_found', 'busy']);

/** Students and administrators share these codes, but the listed files throw them only to administrators. */
const ofAdministrators: Readonly<Partial<Record<ErrorCode, readonly string[]>>> = {
  feature_not_in_plan: ['domain/billing/allowances.ts'], // only for the addressee `administrator`
  limit_reached: ['domain/billing/allowances.ts', 'domain/media/storage/storage.ts'],
  fresh_factor_required: ['domain/identity/sessions/sign-in-rules.policy.ts'],
  in_use: [
    'domain/access/deliveries/deliveries.ts',
    'domain/access/enrollments/cohorts.ts',
    'domain/learning/courses/modules.ts',
    'domain/learning/engagement/levels.ts',
    'domain/learning/engagement/tags.ts',
    'domain/media/uses/uses.ts',
    'domain/sales/purchases/products.ts',
    'domain/watches/watches.ts',
  ],
  // Only a client with a defect names a file twice.
  invalid_file: [
    'domain/clubs/branding.ts',
    'domain/community/post-files.ts',
    'domain/media/library/tracks.ts',
    'domain/media/purposes/unsent-files.ts',
  ],
  invalid_credentials: ['domain/identity/factors/methods.ts'], // factors of administrators
  invalid_image: ['domain/media/processing/own-avatars.ts', 'domain/media/purposes/agent-images.ts'],
  media_archived: ['domain/media/library/publishing.ts', 'domain/media/uses/uses.ts'],
  media_not_ready: ['domain/media/library/publishing.ts'],
  not_configured: [
    'domain/billing/add-ons.ts',
    'domain/billing/checkout/sessions.ts',
    'domain/billing/notices.ts',
    'domain/identity/phones/codes.ts',
    'domain/mail/notices/receive-provider-notice.ts',
    'domain/mail/notices/receive.ts',
    'domain/media/transcriptions/requests.ts',
  ],
  provider_session_limited: ['api/middleware/session.ts'], // sessions of administrators
  rate_limited: ['domain/identity/phones/codes.ts'],
  internal_error: ['api/files/upload-server.ts', 'domain/clubs/organizations.ts'], // only upload clients read these messages
  session_state: ['domain/mentorships/booking.ts'], // cancels and no-shows
};

function codesOfStudents(): Set<string> {
  const ofStudents = contractOperations().filter(
    ({ auth, koaPath }) =>
      auth.includes('student') || /^\/v1\/(?:auth\/(?!admin\/)|clubs\/[^/]+\/classroom\/)/.test(koaPath),
  );
  return new Set(ofStudents.flatMap(({ errorCodes }) => errorCodes));
}

describe('refusals that students read', () => {
  it('have a text from the catalogues in every file that throws them', () => {
    const codes = codesOfStudents();
    const found = new Map<string, Set<string>>();
    for (const file of globSync(['domain/**/*.ts', 'api/**/*.ts'], { cwd: projectDirectory })) {
      const source = readFileSync(path.join(projectDirectory, file), 'utf8');
      for (const [, code = ''] of source.matchAll(/new DomainError\(\s*'([a-z_]+)'/g)) {
        if (codes.has(code) && !forProgrammers.has(code) && !byCode.has(code))
          found.set(code, (found.get(code) ?? new Set()).add(file));
      }
    }
    const listed = Object.fromEntries([...found].map(([code, files]) => [code, [...files].toSorted()]));
    expect(listed).to.deep.equal(ofAdministrators);
  });

  it('have the same code, status and headers in every language', () => {
    const refusal = new RefusalToPerson(
      'daily_limit_reached',
      ({ say }) => say('refusal.daily_limit_reached', { count: 3 }),
      { retryAfterSeconds: 90, location: '/v1/x' },
    );
    expect(refusal).to.include({
      code: 'daily_limit_reached',
      status: 429,
      message: 'This agent takes 3 questions in 24 hours from each student.',
    });
    expect(refusal.headers).to.deep.equal({ retryAfterSeconds: 90, location: '/v1/x' });
    const messages = offeredLanguages.map((language) => refusal.messageIn(language));
    expect(new Set(messages)).to.have.property('size', offeredLanguages.length);
    for (const message of messages) expect(message).to.match(/3.*24|24.*3/);
  });

  it('use the first language in the reader’s list that is offered', () => {
    const refusal = new RefusalToPerson('post_locked', 'refusal.post_locked');
    expect(refusal.messageIn(null, 'fr', 'de-AT', 'es')).to.equal('Der Beitrag nimmt keine Kommentare mehr an.');
    expect(refusal.messageIn(null, null)).to.equal('The post takes no comments any more.');
  });

  it('keep the technical message for programs and logs', () => {
    const refusal = new RefusalToPerson('busy', 'refusal.busy', { technical: 'All 8 places are taken.' });
    expect(refusal.message).to.equal('All 8 places are taken.');
    expect(refusal.messageIn('en')).to.equal('Too many requests are under way. Please try again shortly.');
    expect(refusal.headers).to.deep.equal({});
  });

  it('state a wait of at least one minute, in whole minutes', () => {
    expect([1, 60, 61, 3_600].map(minutesOf)).to.deep.equal([1, 1, 2, 60]);
  });
});
