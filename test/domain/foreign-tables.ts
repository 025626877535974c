/**
 * The tables that a context uses although another context owns the table. Each entry states the reason. `test/domain/tables.test.ts`
 * compares this list with the code.
 */

export interface ForeignUses {
  tables: readonly string[];
  reason: string;
}

interface ForeignUsesOfContext {
  reads?: readonly ForeignUses[];
  writes?: readonly ForeignUses[];
}

const settingsOfClub = 'Reads the settings of the club, checks that the club exists, and locks the club (ENG-6).';
const people = 'Shows names and addresses of students in records, and locks students (ENG-6).';
const administrators = 'Shows names and addresses of administrators in records and mails.';
const sendsMails = 'Inserts mails to many students, which its own steps send later.';
const decidesMails = 'Decides, when a worker claims a mail, whether the student still receives the mail.';
const totals = 'Reads the totals of lists from tallies (ADR 11).';

/** The foreign tables that each context uses. A table occurs at most once in `reads` and once in `writes`. */
export const foreignUses: Readonly<Record<string, ForeignUsesOfContext>> = {
  administrators: {
    reads: [
      {
        tables: ['administrators', 'clubs', 'invitations', 'memberships'],
        reason: 'The use cases of administrators span several contexts.',
      },
    ],
    writes: [
      {
        tables: ['invitations', 'memberships'],
        reason: 'The use cases of administrators span several contexts.',
      },
    ],
  },
  access: {
    reads: [
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['students'], reason: people },
      {
        tables: ['agents', 'community_spaces', 'courses', 'repositories'],
        reason: 'Checks that the record to which a product grants access exists, and shows the title of the record.',
      },
    ],
  },
  agents: {
    reads: [
      { tables: ['agent_sources'], reason: 'Shows whether the material of an agent is indexed.' },
      { tables: ['add_ons', 'club_plans'], reason: 'Computes the budget from the plan and the add-ons of the club.' },
      { tables: ['clubs'], reason: settingsOfClub },
      {
        tables: ['lessons', 'media'],
        reason: 'Shows the titles of material and of citations, and the images of questions.',
      },
      { tables: ['students'], reason: people },
    ],
    writes: [
      { tables: ['agent_sources'], reason: 'Lets an administrator request that a source is read again.' },
      { tables: ['clubs'], reason: 'Sets the club’s own limit of the budget, which is a column of the club.' },
    ],
  },
  assignments: {
    reads: [
      {
        tables: ['courses', 'lessons'],
        reason: 'Finds the lesson of an assignment, because an assignment is a block of a lesson.',
      },
      { tables: ['media'], reason: 'Shows the files of submissions and reviews.' },
      { tables: ['students'], reason: people },
    ],
    writes: [
      {
        tables: ['media_uses'],
        reason: 'Ends submissions and the file uses of their reviews in one statement.',
      },
    ],
  },
  automations: {
    reads: [
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['students'], reason: people },
      { tables: ['courses'], reason: 'Finds rows of a club that is erased by the courses of the club.' },
      { tables: ['failing_steps'], reason: 'Shows runs whose steps have failed.' },
      { tables: ['list_tallies', 'list_tally_changes'], reason: totals },
      { tables: ['mail_senders', 'mail_suppressions', 'mails'], reason: decidesMails },
      {
        tables: [
          'access_deliveries',
          'certificates',
          'course_completions',
          'enrollments',
          'lesson_progress',
          'lessons',
          'product_deliveries',
          'purchases',
          'student_tags',
          'subscriptions',
          'tags',
        ],
        reason: 'Lets a run wait for records of students. A dry run shows these records.',
      },
    ],
    writes: [
      { tables: ['failing_steps'], reason: 'Marks the failures of ended runs as settled.' },
      { tables: ['mails'], reason: sendsMails },
    ],
  },
  billing: {
    reads: [
      { tables: ['clubs'], reason: settingsOfClub },
      {
        tables: ['club_ai_months', 'club_storage', 'club_storage_changes'],
        reason: 'Measures how much a club has used.',
      },
    ],
  },
  branding: {
    reads: [
      {
        tables: ['club_branding', 'media', 'media_renditions'],
        reason: 'Reads a club’s branding and the picture of its logo.',
      },
    ],
  },
  bulk: { reads: [{ tables: ['clubs'], reason: settingsOfClub }] },
  campaigns: {
    reads: [
      { tables: ['administrators', 'memberships'], reason: 'Sends a test mail to a member of the club.' },
      {
        tables: ['automation_versions', 'automations', 'erasures'],
        reason: 'Derives the names of older copies of mail images, and continues after the last one (ERS-27).',
      },
      {
        tables: ['automation_runs', 'mail_clicks'],
        reason: 'Exports all mails to a student together, with their subjects and clicks (EXP-3).',
      },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['mail_domains', 'mail_links', 'mail_senders', 'mail_suppressions', 'mails'], reason: decidesMails },
      { tables: ['media', 'media_renditions'], reason: 'Finds the images in e-mails.' },
      { tables: ['students'], reason: people },
    ],
    writes: [
      { tables: ['erasures'], reason: 'Records the last campaign whose older mail pictures are erased (ERS-27).' },
      { tables: ['mails'], reason: sendsMails },
      { tables: ['media'], reason: 'Records whether an image can be converted to a picture for e-mails (DEC-157).' },
    ],
  },
  clubs: {
    reads: [
      { tables: ['administrators'], reason: administrators },
      {
        tables: ['identity_providers'],
        reason: 'Shows the identity provider of the club, and requires it.',
      },
      { tables: ['media'], reason: 'Checks the image that becomes a logo.' },
      { tables: ['transactional_mails'], reason: 'Shows when a pending invitation expires.' },
    ],
    writes: [
      { tables: ['administrators'], reason: 'Opens an account for a sign-up or an accepted invitation.' },
      { tables: ['identity_providers'], reason: 'Sets and removes the identity provider of the club.' },
    ],
  },
  community: {
    reads: [
      { tables: ['administrators'], reason: administrators },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['list_tallies', 'list_tally_changes'], reason: totals },
      { tables: ['mail_senders', 'mail_suppressions', 'mails'], reason: decidesMails },
      { tables: ['media'], reason: 'Shows the files of posts.' },
      { tables: ['students'], reason: people },
    ],
    writes: [{ tables: ['mails'], reason: sendsMails }],
  },
  conditions: {
    reads: [
      {
        tables: [
          'access_deliveries',
          'cohorts',
          'course_completions',
          'courses',
          'enrollments',
          'lesson_progress',
          'lessons',
          'levels',
          'mails',
          'products',
          'purchases',
          'student_tags',
          'tags',
        ],
        reason: 'Tests the records of students in a condition, and names missing records in a problem.',
      },
    ],
  },
  erasures: {
    reads: [
      { tables: ['vault_secrets'], reason: 'Reads the keys that sign certificates of erasure (ERS-31).' },
      {
        tables: ['webhook_deliveries'],
        reason: 'Lists the receivers that acknowledged the removal of a student (ERS-33).',
      },
      {
        tables: ['clubs', 'administrators', 'students'],
        reason: 'Locks the club, and finds erased records that Postgres has again after a restore (ERS-25).',
      },
      { tables: ['memberships'], reason: 'Informs the owners and admins of the club by mail.' },
      {
        tables: ['facts', 'list_tallies', 'list_tally_changes', 'wakes'],
        reason: 'Erases the rows of a club in the tables of the platform.',
      },
    ],
    writes: [
      { tables: ['clubs'], reason: 'Marks a club whose erasure begins.' },
      { tables: ['failing_steps'], reason: 'Deletes the faults of the terminated runs of a club.' },
      { tables: ['vault_secrets'], reason: 'Makes the keys that sign certificates of erasure (ERS-31).' },
    ],
  },
  exports: {
    reads: [
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['students'], reason: people },
      { tables: ['media'], reason: 'Lists the original files that belong to a copy of the club.' },
    ],
  },
  idempotency: {
    reads: [
      {
        tables: ['api_keys', 'memberships'],
        reason: 'Finds the callers whose stored answers may name an erased administrator.',
      },
    ],
  },
  identity: {
    reads: [
      {
        tables: ['club_sign_in_rules'],
        reason: 'Finds the rules of the club in the query that finds the session (FAC-1).',
      },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['memberships'], reason: 'Finds the role of an administrator in a club.' },
      { tables: ['one_time_tokens'], reason: 'The token of a repeated sign-up contains the password of this sign-up.' },
    ],
    writes: [
      { tables: ['one_time_tokens'], reason: 'The token of a repeated sign-up contains the password of this sign-up.' },
    ],
  },
  joining: {
    reads: [
      {
        tables: ['access_deliveries', 'enrollments'],
        reason: 'Memberships begin and end with the access of students (ADR 31).',
      },
      {
        tables: ['community_memberships', 'community_spaces'],
        reason: 'Memberships begin and end with the access of students (ADR 31).',
      },
      {
        tables: ['mail_suppressions', 'students'],
        reason: 'A student who has switched off the daily mail receives no mail for a new space.',
      },
    ],
    writes: [
      {
        tables: ['community_memberships', 'community_spaces'],
        reason: 'Memberships begin and end with the access of students (ADR 31).',
      },
    ],
  },
  knowledge: {
    reads: [
      { tables: ['agent_citations'], reason: 'Finds the citations of a source in batches, to remove their links.' },
      { tables: ['agent_materials', 'agents'], reason: 'A search is limited to the material of one agent.' },
      { tables: ['clubs'], reason: settingsOfClub },
      {
        tables: ['courses', 'lessons', 'media', 'media_tracks'],
        reason: 'A source changes together with the file or lesson from which its text is read.',
      },
    ],
    writes: [
      {
        tables: ['agent_citations'],
        reason: 'A citation stays after its source is deleted, and then names no source.',
      },
    ],
  },
  learning: {
    reads: [
      {
        tables: ['access_deliveries', 'enrollments'],
        reason: 'Shows a student the courses that their access includes.',
      },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['students'], reason: people },
    ],
    writes: [{ tables: ['students'], reason: 'Adds points, which are a column of the student.' }],
  },
  mail: {
    reads: [
      {
        tables: ['administrators', 'invitations', 'students'],
        reason: 'Finds the recipient of a mail: address, name, language and lock.',
      },
      {
        tables: ['club_plans', 'clubs'],
        reason: 'Finds the club of a mail: its name, its language, and its plan, which limits the mails of a day.',
      },
    ],
    writes: [
      { tables: ['list_tally_changes'], reason: totals },
      {
        tables: ['wakes'],
        reason:
          'A request that creates no mail must take as long as a request that creates a mail, but must leave no wake (ACC-4).',
      },
    ],
  },
  media: {
    reads: [
      { tables: ['administrators', 'memberships'], reason: 'Warns the administrators of a club whose videos expire.' },
      { tables: ['club_feature_changes'], reason: 'Follows plans that gain or lose hosted videos (MED-10).' },
      { tables: ['clubs'], reason: 'Locks the club (ENG-6).' },
    ],
    writes: [
      { tables: ['club_feature_changes'], reason: 'Removes a change of plan after the media context has applied it.' },
    ],
  },
  mentorships: {
    reads: [
      {
        tables: ['access_deliveries'],
        reason: 'Shows a student the mentorships that their access includes.',
      },
      { tables: ['administrators', 'memberships'], reason: 'Finds the mentors, who are members of the club.' },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['list_tallies', 'list_tally_changes'], reason: totals },
      { tables: ['students'], reason: people },
      {
        tables: ['transactional_mails'],
        reason: 'A former mentor receives a mail only if an earlier mail announced the session (MENT-11).',
      },
    ],
  },
  repositories: {
    reads: [{ tables: ['media'], reason: 'Shows the files of a repository, which is a folder of the library.' }],
  },
  sales: {
    reads: [
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['enrollments'], reason: 'Shows the access that a purchase granted.' },
      { tables: ['students'], reason: people },
    ],
  },
  students: {
    reads: [
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['students'], reason: 'The use cases of students span several contexts.' },
    ],
    writes: [{ tables: ['students'], reason: 'The use cases of students span several contexts.' }],
  },
  watches: {
    reads: [
      {
        tables: [
          'access_deliveries',
          'automation_course_looks',
          'automation_course_watches',
          'automation_references',
          'automation_runs',
          'automation_versions',
          'automations',
          'course_completion_looks',
          'course_completions',
          'courses',
          'enrollments',
          'lesson_progress',
          'lessons',
          'wakes',
        ],
        reason: 'A fact wakes the runs that may continue because of it, in the transaction of the fact (ADR 24).',
      },
    ],
    writes: [
      {
        tables: ['automation_course_looks', 'automation_runs', 'course_completion_looks'],
        reason: 'Marks the runs and courses that the platform must evaluate (ADR 24).',
      },
    ],
  },
  webhooks: {
    reads: [
      {
        tables: ['administrators', 'memberships'],
        reason: 'Informs the administrators of a club whose endpoint has failures.',
      },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['facts'], reason: 'Finds a removal that is not fanned out yet (ERS-24).' },
      {
        tables: ['upkeep_rounds'],
        reason: 'Each round of upkeep continues at the position of the last round.',
      },
      {
        tables: [
          'access_deliveries',
          'certificates',
          'course_completions',
          'courses',
          'enrollments',
          'lesson_progress',
          'lessons',
          'levels',
          'products',
          'purchases',
          'students',
          'subscriptions',
          'tags',
        ],
        reason: 'Puts the current records into the body of an event.',
      },
    ],
    writes: [
      { tables: ['clubs'], reason: 'Records the beginning of the club’s log of events (ADR 74).' },
      { tables: ['upkeep_rounds'], reason: 'Records the position of the last round of upkeep.' },
    ],
  },
};
