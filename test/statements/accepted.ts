/** Facts that the check of declared rows cannot find out. Each entry says why the declaration is right. */

/** Columns that are never null, although the table allows null. */
export const neverNull: readonly { readonly column: string; readonly reason: string }[] = [
  { column: 'media.type', reason: 'generated from kind and provider, which are never null' },
];

/** Rules that all rows of a table follow, although the table has no such constraint. Each rule is written like a constraint. */
export const unstated: readonly { readonly table: string; readonly rule: string; readonly reason: string }[] = [
  {
    table: 'lessons',
    rule: '(removed_at IS NULL) = (module_id IS NOT NULL)',
    reason: 'a lesson loses its module when it is removed',
  },
  {
    table: 'automations',
    rule: "(status <> 'active'::text) OR (published_id IS NOT NULL)",
    reason: 'the constraint names a list of states, which the check does not read',
  },
  {
    table: 'mails',
    rule: '(run_id IS NULL) = (step_id IS NULL)',
    reason: 'the constraint contains another condition, so the check ignores the constraint',
  },
];

/** Properties that are declared as never null, although the check finds that they may be null. Each entry has the file and the name. */
export const acceptedNulls: readonly { readonly file: string; readonly property: string; readonly reason: string }[] = [
  {
    file: 'domain/access/enrollments/listing.ts',
    property: 'studentEmail',
    reason: 'the removal of a student also removes the enrollments, and the statement excludes removed enrollments',
  },
  {
    file: 'domain/assignments/submissions.ts',
    property: 'studentEmail',
    reason: 'the removal of a student deletes the submissions',
  },
  {
    file: 'domain/assignments/extensions.ts',
    property: 'email',
    reason: 'the removal of a student deletes the extensions',
  },
  {
    file: 'domain/agents/conversations/conversation-reviews.ts',
    property: 'email',
    reason: 'the removal of a student deletes the conversations',
  },
  {
    file: 'domain/community/members.ts',
    property: 'email',
    reason: 'the removal of a student deletes the memberships',
  },
  {
    file: 'domain/campaigns/drafts/checks.ts',
    property: 'email',
    reason: 'the audience has only students who are not removed',
  },
  {
    file: 'domain/learning/engagement/comments.ts',
    property: 'email',
    reason: 'the removal of a student deletes the comments',
  },
  {
    file: 'domain/community/digests/news.ts',
    property: 'body',
    reason: 'only published posts are news, and a post loses its body when it stops being published',
  },
  {
    file: 'domain/media/uses/uses.ts',
    property: 'title',
    reason: 'every kind of use has a title, and a use is deleted with its record',
  },
  {
    file: 'platform/infra/postgres/partitions.ts',
    property: 'bound',
    reason: 'Postgres stores the bounds of every partition',
  },
  {
    file: 'platform/infra/postgres/checks/role-limits.ts',
    property: 'setting',
    reason: 'these settings always have a value',
  },
];
