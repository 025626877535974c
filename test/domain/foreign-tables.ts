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

const settingsOfClub = 'Settings of the club, the check that the club exists, and the lock of the club (ENG-6).';
const people = 'Names and addresses of students in records, and the locks of students (ENG-6).';
const administrators = 'Names and addresses of administrators in records and mails.';
const sendsMails = 'Prepares mails to many students, and claims the mails for its own steps.';
const decidesMails = 'Decides at the claim of a mail whether the student still receives it.';
const totals = 'Totals of lists come from tallies (ADR 11).';

/** The foreign tables that each context uses. A table occurs at most once in `reads` and once in `writes`. */
export const foreignUses: Readonly<Record<string, ForeignUsesOfContext>> = {
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
      { tables: ['add_ons', 'club_plans'], reason: 'The budget follows the plan and the add-ons of the club.' },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['lessons', 'media'], reason: 'Titles of material and of citations, and images of questions.' },
      { tables: ['students'], reason: people },
    ],
    writes: [
      { tables: ['agent_sources'], reason: 'An administrator requests that a source is read again.' },
      { tables: ['clubs'], reason: 'The limit of the club’s budget is a column of the club.' },
    ],
  },
  assignments: {
    reads: [
      { tables: ['courses', 'lessons'], reason: 'An assignment is a block of a lesson.' },
      { tables: ['media'], reason: 'Shows the files of submissions and reviews.' },
      { tables: ['students'], reason: people },
    ],
    writes: [
      {
        tables: ['media_uses'],
        reason: 'Ends the file uses of reviews together with their submissions, in one statement.',
      },
    ],
  },
  automations: {
    reads: [
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['students'], reason: people },
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
        reason: 'A run waits for records of students, and a dry run shows these records.',
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
        reason: 'Reads a club’s look and the picture of its logo.',
      },
    ],
  },
  campaigns: {
    reads: [
      { tables: ['administrators', 'memberships'], reason: 'A test mail goes to a member of the club.' },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['mail_domains', 'mail_links', 'mail_senders', 'mail_suppressions', 'mails'], reason: decidesMails },
      { tables: ['media', 'media_renditions'], reason: 'Finds the images in e-mails.' },
      { tables: ['students'], reason: people },
    ],
    writes: [
      { tables: ['mails'], reason: sendsMails },
      { tables: ['media'], reason: 'Records whether an image can be converted to a picture for e-mails (DEC-157).' },
    ],
  },
  clubs: {
    reads: [
      { tables: ['administrators'], reason: administrators },
      { tables: ['media'], reason: 'Checks the image that becomes a logo.' },
      { tables: ['transactional_mails'], reason: 'Shows when a pending invitation expires.' },
    ],
    writes: [{ tables: ['administrators'], reason: 'A sign-up opens an account, and so does an accepted invitation.' }],
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
        reason: 'A condition tests the records of students, and a problem names the records that it tests.',
      },
    ],
  },
  identity: {
    reads: [
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['memberships'], reason: 'The role of an administrator in a club.' },
      { tables: ['one_time_tokens'], reason: 'A token contains the password of a repeated sign-up.' },
    ],
    writes: [{ tables: ['one_time_tokens'], reason: 'A token contains the password of a repeated sign-up.' }],
  },
  joining: {
    reads: [
      { tables: ['access_deliveries', 'enrollments'], reason: 'Memberships follow access (ADR 31).' },
      { tables: ['community_memberships', 'community_spaces'], reason: 'Memberships follow access (ADR 31).' },
      {
        tables: ['mail_suppressions', 'students'],
        reason: 'A student who has switched off the daily mail receives no mail for a new space.',
      },
    ],
    writes: [{ tables: ['community_memberships', 'community_spaces'], reason: 'Memberships follow access (ADR 31).' }],
  },
  knowledge: {
    reads: [
      { tables: ['agent_citations'], reason: 'Finds the citations of a source in batches, to remove their links.' },
      { tables: ['agent_materials', 'agents'], reason: 'A search is limited to the material of one agent.' },
      { tables: ['clubs'], reason: settingsOfClub },
      {
        tables: ['courses', 'lessons', 'media', 'media_tracks'],
        reason: 'The sources follow the files and lessons from which they are read.',
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
        reason: 'A student sees the courses that their access includes.',
      },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['students'], reason: people },
    ],
    writes: [{ tables: ['students'], reason: 'Points are a column of the student.' }],
  },
  mail: {
    reads: [
      {
        tables: ['administrators', 'invitations', 'students'],
        reason: 'The recipient of a mail: address, name, language and lock.',
      },
      {
        tables: ['club_plans', 'clubs'],
        reason: 'The club of a mail: name, language, and the plan, which limits the mails of a day.',
      },
    ],
    writes: [
      { tables: ['list_tally_changes'], reason: totals },
      {
        tables: ['wakes'],
        reason:
          'A request that creates no mail leaves no wake. It takes as long as a request that creates a mail (ACC-4).',
      },
    ],
  },
  media: {
    reads: [
      { tables: ['administrators', 'memberships'], reason: 'Warns the administrators of a club whose videos expire.' },
      { tables: ['club_feature_changes'], reason: 'Follows plans that gain or lose hosted videos (MED-10).' },
      { tables: ['clubs'], reason: 'The lock of the club (ENG-6).' },
    ],
    writes: [
      { tables: ['club_feature_changes'], reason: 'Removes a change of plan after the media context has applied it.' },
    ],
  },
  mentorships: {
    reads: [
      {
        tables: ['access_deliveries'],
        reason: 'A student sees the mentorships that their access includes.',
      },
      { tables: ['administrators', 'memberships'], reason: 'Mentors are members of the club.' },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['list_tallies', 'list_tally_changes'], reason: totals },
      { tables: ['students'], reason: people },
      {
        tables: ['transactional_mails'],
        reason: 'A former mentor receives a mail only if an earlier mail announced the session (MENT-11).',
      },
    ],
  },
  repositories: { reads: [{ tables: ['media'], reason: 'A repository is a folder of files of the library.' }] },
  sales: {
    reads: [
      { tables: ['enrollments'], reason: 'A purchase shows the access that it granted.' },
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
        reason: 'Marks the runs and courses that must be evaluated (ADR 24).',
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
        reason: 'The body of an event contains the current records.',
      },
    ],
    writes: [
      { tables: ['clubs'], reason: 'Records the beginning of the club’s log of events (ADR 74).' },
      { tables: ['upkeep_rounds'], reason: 'Records the position of the last round of upkeep.' },
    ],
  },
};
