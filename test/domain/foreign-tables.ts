/** Uses of tables of other contexts, each with its reason. `test/domain/tables.test.ts` compares them with the code. */

export interface ForeignUses {
  tables: readonly string[];
  reason: string;
}

interface ForeignUsesOfContext {
  reads?: readonly ForeignUses[];
  writes?: readonly ForeignUses[];
}

const settingsOfClub = 'Settings of the club, its existence, and its lock (ENG-6).';
const people = 'Names and addresses of students in records, and their lock (ENG-6).';
const administrators = 'Names and addresses of administrators in records and mails.';
const sendsMails = 'Prepares mails to many students, and claims them for its own steps.';
const decidesMails = 'Decides when it claims a mail whether the student still gets it.';
const totals = 'Totals of lists come from tallies (ADR 11).';

/** The uses by each context. A table stands at most once under `reads` and once under `writes`. */
export const foreignUses: Readonly<Record<string, ForeignUsesOfContext>> = {
  access: {
    reads: [
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['students'], reason: people },
      {
        tables: ['agents', 'community_spaces', 'courses', 'repositories'],
        reason: 'Checks that a product delivers something that exists, and shows its title.',
      },
    ],
  },
  agents: {
    reads: [
      { tables: ['agent_sources'], reason: 'Shows whether the material of an agent is indexed.' },
      { tables: ['add_ons', 'club_plans'], reason: 'The budget follows the plan and what the club has bought.' },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['lessons', 'media'], reason: 'Titles of material and of citations, and images of questions.' },
      { tables: ['students'], reason: people },
    ],
    writes: [
      { tables: ['agent_sources'], reason: 'An administrator has a source read once more.' },
      { tables: ['clubs'], reason: 'The limit of the club’s budget is a column of the club.' },
    ],
  },
  assignments: {
    reads: [
      { tables: ['courses', 'lessons'], reason: 'An assignment is a block of a lesson.' },
      { tables: ['media'], reason: 'Shows the files of submissions and reviews.' },
      { tables: ['students'], reason: people },
    ],
    writes: [{ tables: ['media_uses'], reason: 'Ends the uses of reviews with their submissions, in one statement.' }],
  },
  automations: {
    reads: [
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['students'], reason: people },
      { tables: ['failing_steps'], reason: 'Shows runs whose steps fail.' },
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
        reason: 'A run waits for records of students, and a dry run shows them.',
      },
    ],
    writes: [
      { tables: ['failing_steps'], reason: 'Settles the failures of runs that ended.' },
      { tables: ['mails'], reason: sendsMails },
    ],
  },
  billing: {
    reads: [
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['club_ai_months', 'club_storage', 'club_storage_changes'], reason: 'Measures what a club has used.' },
    ],
  },
  branding: {
    reads: [
      {
        tables: ['club_branding', 'media', 'media_renditions'],
        reason: 'Reads a club’s look, and the picture of its logo.',
      },
    ],
  },
  campaigns: {
    reads: [
      { tables: ['administrators', 'memberships'], reason: 'A test mail goes to a member of the club.' },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['mail_domains', 'mail_links', 'mail_senders', 'mail_suppressions', 'mails'], reason: decidesMails },
      { tables: ['media', 'media_renditions'], reason: 'Finds the images of e-mails.' },
      { tables: ['students'], reason: people },
    ],
    writes: [
      { tables: ['mails'], reason: sendsMails },
      { tables: ['media'], reason: 'Records whether a picture for e-mails can be made of an image (DEC-157).' },
    ],
  },
  clubs: {
    reads: [
      { tables: ['administrators'], reason: administrators },
      { tables: ['media'], reason: 'Checks the image of a logo.' },
      { tables: ['transactional_mails'], reason: 'Shows until when an invitation waits.' },
    ],
    writes: [{ tables: ['administrators'], reason: 'Signing up and accepting an invitation open an account.' }],
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
        reason: 'A condition asks what students have, and a problem names what it asks for.',
      },
    ],
  },
  identity: {
    reads: [
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['memberships'], reason: 'The role of an administrator in a club.' },
      { tables: ['one_time_tokens'], reason: 'A token holds the password of a repeated sign-up.' },
    ],
    writes: [{ tables: ['one_time_tokens'], reason: 'A token holds the password of a repeated sign-up.' }],
  },
  joining: {
    reads: [
      { tables: ['access_deliveries', 'enrollments'], reason: 'Memberships follow access (ADR 31).' },
      { tables: ['community_memberships', 'community_spaces'], reason: 'Memberships follow access (ADR 31).' },
      {
        tables: ['mail_suppressions', 'students'],
        reason: 'A student who has left the daily mail does not get it in a new space.',
      },
    ],
    writes: [{ tables: ['community_memberships', 'community_spaces'], reason: 'Memberships follow access (ADR 31).' }],
  },
  knowledge: {
    reads: [
      { tables: ['agent_citations'], reason: 'Finds the citations of a source in batches, to unlink them.' },
      { tables: ['agent_materials', 'agents'], reason: 'A search covers the material of one agent.' },
      { tables: ['clubs'], reason: settingsOfClub },
      {
        tables: ['courses', 'lessons', 'media', 'media_tracks'],
        reason: 'Sources follow the files and lessons that they are read from.',
      },
    ],
    writes: [{ tables: ['agent_citations'], reason: 'A citation outlives its source, and then names none.' }],
  },
  learning: {
    reads: [
      { tables: ['access_deliveries', 'enrollments'], reason: 'A student sees the courses that their access opens.' },
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
        reason: 'The club of a mail: name, language, and the plan that bounds its mails a day.',
      },
    ],
    writes: [
      { tables: ['list_tally_changes'], reason: totals },
      { tables: ['wakes'], reason: 'A request without a mail leaves no wake, and takes the time of one (ACC-4).' },
    ],
  },
  media: {
    reads: [
      { tables: ['administrators', 'memberships'], reason: 'Warns the administrators of a club whose videos expire.' },
      { tables: ['club_feature_changes'], reason: 'Follows plans that gain or lose the hosting of videos (MED-10).' },
      { tables: ['clubs'], reason: 'The lock of the club (ENG-6).' },
    ],
    writes: [{ tables: ['club_feature_changes'], reason: 'Removes a change of plan that it has followed.' }],
  },
  mentorships: {
    reads: [
      { tables: ['access_deliveries'], reason: 'A student sees the mentorships that their access opens.' },
      { tables: ['administrators', 'memberships'], reason: 'Mentors are members of the club.' },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['list_tallies', 'list_tally_changes'], reason: totals },
      { tables: ['students'], reason: people },
      {
        tables: ['transactional_mails'],
        reason: 'A former mentor gets a mail only if they were told of the session (MENT-11).',
      },
    ],
  },
  repositories: { reads: [{ tables: ['media'], reason: 'A repository is a folder of files of the library.' }] },
  sales: {
    reads: [
      { tables: ['enrollments'], reason: 'A purchase shows the access that it gave.' },
      { tables: ['students'], reason: people },
    ],
  },
  students: {
    reads: [
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['students'], reason: 'The use cases of students span the contexts.' },
    ],
    writes: [{ tables: ['students'], reason: 'The use cases of students span the contexts.' }],
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
        reason: 'A fact wakes the runs that it can move on, in the transaction of the fact (ADR 24).',
      },
    ],
    writes: [
      {
        tables: ['automation_course_looks', 'automation_runs', 'course_completion_looks'],
        reason: 'Says which runs and courses are to be looked at (ADR 24).',
      },
    ],
  },
  webhooks: {
    reads: [
      { tables: ['administrators', 'memberships'], reason: 'Tells the administrators of a club whose endpoint fails.' },
      { tables: ['clubs'], reason: settingsOfClub },
      { tables: ['facts', 'upkeep_rounds'], reason: 'Facts become events, and a round follows the last one.' },
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
        reason: 'The body of an event shows the records as they are then.',
      },
    ],
    writes: [{ tables: ['upkeep_rounds'], reason: 'Records how far the last round of upkeep came.' }],
  },
};
