/**
 * Rules of the engine that `npm run prove -- simulate --without NAME` removes. The simulation must find each removal;
 * docs/reference/proofs.md says how soon.
 */

export interface RemovedRule {
  /** The rule, in the words of docs/reference/engine-rules.md. */
  rule: string;
  file: string;
  /** Pairs of a text that the file contains exactly once, and its replacement; empty if only the database changes. */
  changes: readonly (readonly [find: string, replacement: string])[];
  /** A statement that changes the database. */
  sql?: string;
  engine: string;
  /** Arguments for rules that the usual schedules seldom use. Arguments of the command line come after them. */
  arguments?: readonly string[];
}

export const removedRules: Readonly<Record<string, RemovedRule>> = {
  'lease-of-rows': {
    rule: 'ENG-2: no claim while a lease lives',
    file: 'platform/engine/lease.ts',
    changes: [['sql`(lease_until IS NULL OR lease_until < clock_timestamp())`', 'sql`true`']],
    engine: 'mails',
  },
  'fence-of-rows': {
    rule: 'ENG-2: a record counts only with the fence of its claim',
    file: 'platform/engine/lease.ts',
    changes: [['const criteria = { ...rule.open, id, fence }', 'const criteria = { ...rule.open, id }']],
    engine: 'mails',
  },
  'lease-of-deliveries': {
    rule: 'ENG-2: no attempt while a lease lives',
    file: 'domain/webhooks/attempts/claims.ts',
    changes: [['AND (lease_until IS NULL OR lease_until < clock_timestamp())', '']],
    engine: 'webhooks',
  },
  'interrupted-attempts': {
    rule: 'ENG-2: if the lease of an attempt ends, the attempt is recorded as interrupted',
    file: 'domain/webhooks/attempts/claims.ts',
    changes: [["SET outcome = 'interrupted'", 'SET outcome = NULL']],
    engine: 'webhooks',
  },
  'due-time': {
    rule: 'ENG-2: no claim before the row is due',
    file: 'platform/engine/lease.ts',
    changes: [['sql`${columnOf(rule.due)} <= ${at}`', 'sql`${at}::timestamptz IS NOT NULL`']],
    engine: 'mails',
  },
  'flag-before-step': {
    rule: 'ENG-1: the flag is cleared before the step',
    file: 'workflows/step-workflow.ts',
    changes: [
      ['signaled = false; // set before the step', '// set before the step'],
      ['const next = await step(Date.now());', 'const next = await step(Date.now()); signaled = false;'],
    ],
    engine: 'webhooks',
  },
  'signal-at-end': {
    rule: 'ENG-1: a run does not end before it has answered its signals',
    file: 'workflows/step-workflow.ts',
    changes: [['else if (next.done && !signaled)', 'else if (next.done)']],
    engine: 'webhooks',
  },
  'wake-with-row': {
    rule: 'ENG-3: a change that makes a row due writes a wake',
    file: 'domain/mail/transactional/requests.ts',
    changes: [
      [
        "if (insertedRows.length > 0) await wake(tx, 'transactionalMail'",
        "if (insertedRows.length < 0) await wake(tx, 'transactionalMail'",
      ],
    ],
    engine: 'mails',
  },
  'wake-in-transaction': {
    rule: 'ENG-3: the wake is written in the transaction of its cause',
    file: 'platform/engine/wakes.ts',
    changes: [
      [
        '  await tx.run(insertingWakes(',
        '  const after = new Queries(tx.manager.dataSource.manager);\n  setTimeout(() => void after.run(insertingWakes(',
      ],
      ['::jsonb) AS one`, sql`${now}`));', '::jsonb) AS one`, sql`${now}`)).catch(() => {}), 1);'],
    ],
    engine: 'webhooks',
  },
  'raised-wakes': {
    rule: 'ENG-3: a wake that was raised in the meantime is not deleted',
    file: 'platform/engine/wakes.ts',
    changes: [
      [
        'AND workflow_id = ${value.workflowId} AND seq = ${value.seq} RETURNING 1',
        'AND workflow_id = ${value.workflowId} AND seq <> 0 * ${value.seq}::bigint - 1 RETURNING 1',
      ],
    ],
    engine: 'webhooks',
    arguments: ['--paced', '--commands', '40'],
  },
  'wake-of-ending-run': {
    rule: 'ENG-3: a wake survives the answer "already started"',
    file: 'worker/relay/carry-wakes.ts',
    changes: [['workflows.signalWithStart(wake));', 'workflows.start(wake, []));']],
    engine: 'webhooks',
  },
  'fact-until-started': {
    rule: 'ENG-4: a fact is deleted only after its workflows are started',
    file: 'worker/relay/carry-facts.ts',
    changes: [
      ["await failpoint('fanned_out');", 'await removeFacts(db.source, [fact]);'],
      ['await removeFacts(db.source, facts);', ''],
    ],
    engine: 'webhooks',
  },
  'fact-lease': {
    rule: 'ENG-4: another relay handles the facts of a dead relay',
    file: 'platform/engine/turns.ts',
    changes: [['OR ${table}.lease_until < clock_timestamp())`;', 'OR false)`;']],
    engine: 'webhooks',
  },
  sweeper: {
    rule: 'ENG-5: the sweeper wakes overdue rows',
    file: 'platform/engine/sweeper.ts',
    changes: [['await wakeRuns(tx, runs, now);', '']],
    engine: 'webhooks',
  },
  'once-an-event': {
    rule: 'ENG-8: an event has one delivery for each endpoint; its id is derived from the ids of both',
    file: 'domain/webhooks/events/fan-out.ts',
    changes: [['const id = deliveryIdOf(fact.id, endpoint.endpointId);', 'const id = crypto.randomUUID();']],
    engine: 'webhooks',
  },
  'lock-order': {
    rule: 'ENG-6: the endpoint is locked before the delivery',
    file: 'domain/webhooks/attempts/record-failure.ts',
    changes: [
      [
        '    const endpoint = await lockEndpoint(tx, claim.endpointId);\n    const delivery = await writeFailure(tx, id, claim, answer, now, jitter);',
        '    const delivery = await writeFailure(tx, id, claim, answer, now, jitter);\n    const endpoint = await lockEndpoint(tx, claim.endpointId);',
      ],
    ],
    engine: 'webhooks',
  },
  'audience-locked': {
    rule: 'ENG-6: a fan-out locks the student and the endpoints before it reads them',
    file: 'domain/webhooks/events/audience.ts',
    changes: [
      ['FROM students WHERE id = ${value.studentId} FOR SHARE)', 'FROM students WHERE id = ${value.studentId})'],
      ['ORDER BY id FOR SHARE) endpoint', 'ORDER BY id) endpoint'],
    ],
    engine: 'webhooks',
  },
  'parking-locked': {
    rule: 'HOOK-4: a delivery parks under the lock of its endpoint',
    file: 'domain/webhooks/attempts/state.ts',
    changes: [['WHERE id = ${id}) FOR SHARE`', 'WHERE id = ${id})`']],
    engine: 'webhooks',
    arguments: ['--paced', '--commands', '10'],
  },
  'direct-failure-woken': {
    rule: 'HOOK-18: the record of a direct attempt that was not accepted wakes the run',
    file: 'domain/webhooks/attempts/record-failure.ts',
    changes: [['if (claim.direct && !step?.done) {', 'if (claim.number > 1 && claim.direct && !step?.done) {']],
    engine: 'webhooks-directly',
  },
  'lost-direct-handed-over': {
    rule: 'HOOK-18: a relay hands over attempts that were not recorded within their lease',
    file: 'worker/relay/relay.ts',
    changes: [['      await handOverLostAttempts();\n', '']],
    engine: 'webhooks-directly',
  },
  'held-successes-alone': {
    rule: 'HOOK-19: a record that the writer skips is written alone',
    file: 'domain/webhooks/attempts/record-success.ts',
    changes: [["=== 'succeeded' : recordAlone(db, accepted)", "=== 'succeeded' : true"]],
    engine: 'webhooks-directly',
  },
  'gate-called': {
    rule: 'HOOK-5: a change that opens an endpoint starts its gate',
    file: 'domain/webhooks/queues/endpoint-states.ts',
    changes: [
      [
        '    await releaseManual(tx, endpointId, now);\n    await callGate(tx, { endpointId, clubId }, now);',
        '    await releaseManual(tx, endpointId, now);',
      ],
    ],
    engine: 'webhooks',
  },
  'gate-end': {
    rule: 'HOOK-6: a gate ends only when no delivery is parked',
    file: 'domain/webhooks/queues/gate.ts',
    changes: [
      [
        "return more ? { done: false, doing: 'releasing', at: now + pageEveryMs } :",
        'return more && page > 64 ? { done: false, doing: "releasing", at: now + pageEveryMs } :',
      ],
    ],
    engine: 'webhooks',
  },
  'charge-looked-for': {
    rule: 'BILL-6: the service looks for an existing charge before it marks an add-on as failed',
    file: 'domain/billing/settling.ts',
    changes: [
      [
        "return { result: 'unknown', code: error instanceof Error ? error.name : 'unknown' };",
        "return { result: 'declined' };",
      ],
    ],
    engine: 'add-ons',
  },
  'item-looked-for': {
    rule: 'BILL-10: the service looks for an existing item before it charges for overage',
    file: 'domain/billing/overage/charging.ts',
    changes: [
      [
        'if (earlier) return itemMade(earlier, now);',
        'if (earlier && earlier.amount < 0) return itemMade(earlier, now);',
      ],
      // The processor forgets keys after a day, which is too long for a schedule.
      ['isKeyGood = keyAgeMs < keyLastsMs;', 'isKeyGood = keyAgeMs < 1_000;'],
      ['keyAgeMs < keyLastsMs + keyRestsMs', 'keyAgeMs < 1_000'],
    ],
    engine: 'overages',
  },
  'closed-months': {
    rule: 'BILL-8: the excess of a month does not change after the month was closed',
    file: 'domain/billing/overages.ts',
    changes: [
      ['AND closed_at IS NOT NULL)', 'AND false)'],
      [' AND recorded.closed_at IS NULL`', '`'],
    ],
    engine: 'overages',
  },
  'removal-of-bodies': {
    rule: 'HOOK-11: the removal of a student purges the bodies about the student',
    file: 'domain/webhooks/student-removal.ts',
    changes: [
      ['DELETE FROM webhook_bodies kept USING', 'DELETE FROM webhook_bodies kept USING (SELECT WHERE false) nothing,'],
    ],
    engine: 'webhooks',
  },
  'left-campaigns': {
    rule: 'CAMP-5: a student who unsubscribed gets no campaign mail',
    file: 'domain/campaigns/sending.ts',
    changes: [["WHEN suppression.left_campaigns_at IS NOT NULL THEN 'unsubscribed'", '']],
    engine: 'campaigns',
  },
  'copies-left-behind': {
    rule: 'MED-27: a row erases a copy that an earlier claim may still be writing',
    file: 'domain/media/library/moving.ts',
    changes: [['if (earlier !== null) {', 'if (earlier !== null && earlier === undefined) {']],
    engine: 'media-moves',
  },
  'addresses-kept': {
    rule: 'MED-6: the old address of a moved file works until it expires',
    file: 'domain/media/library/moving.ts',
    changes: [['now.getTime() + movingRules.readableMs[file.visibility]', 'now.getTime()']],
    engine: 'media-moves',
  },
  'uploaded-track-stays': {
    rule: 'MED-34: a generated track never replaces an uploaded one',
    file: 'domain/media/transcriptions/step.ts',
    changes: [["if (!isThere || before?.madeBy === 'upload') return;", 'if (!isThere) return;']],
    engine: 'media-transcriptions',
  },
  'refund-once': {
    rule: 'EVT-10: a purchase is refunded once, although the refund is sent more than once',
    file: 'domain/sales/purchases/purchases.ts',
    changes: [["before.status === 'paid' && after.status !== 'paid'", "after.status !== 'paid'"]],
    engine: 'sales',
  },
  'end-of-access-woken': {
    rule: 'ENG-3: a change of access by a subscription wakes the workflow that ends the access',
    file: 'domain/access/enrollments/rows.ts',
    changes: [["await wake(tx, 'subscriptionEnd'", "if (id === '') await wake(tx, 'subscriptionEnd'"]],
    engine: 'sales',
  },
  'fill-woken': {
    rule: 'ENG-3: a change that requires new members of a space wakes the workflow that adds them',
    file: 'domain/community/spaces.ts',
    changes: [["await wake(tx, 'spaceFill', [{ id: spaceId, clubId }], now);", '']],
    engine: 'space-fills',
  },
  'completions-woken': {
    rule: 'ENG-3: a request for the completions of a course wakes their run',
    file: 'domain/watches/completions.ts',
    changes: [["await wake(tx, 'courseCompletion', startedPasses, now);", '']],
    engine: 'course-completions',
  },
  'who-left-stays-out': {
    rule: 'COMM-8: a student who left the space or is banned is not added again and not counted',
    file: 'domain/joining/joining.ts',
    changes: [
      ['WHERE standing.left_at IS NULL AND standing.banned_at IS NULL\n       AND (standing', 'WHERE (standing'],
    ],
    engine: 'space-fills',
  },
  'plan-changed-meanwhile': {
    rule: 'MED-10: a plan that changes during the removal of a video keeps the video',
    file: 'domain/media/erasure/expiry.ts',
    changes: [["if (await hasFeature(tx, clubId, 'video_hosting')) throw new PlanChanged();", '']],
    engine: 'media-expiry',
  },
  'files-before-plan-change': {
    rule: 'ENG-6: upkeep locks files before the row of a changed plan',
    file: 'domain/media/erasure/expiry.ts',
    changes: [
      [
        "  const stays = await hasFeature(tx, clubId, 'video_hosting');\n  const otherwise",
        "  await tx.run(sql`SELECT FROM club_feature_changes WHERE club_id = ${clubId} FOR UPDATE SKIP LOCKED`);\n  const stays = await hasFeature(tx, clubId, 'video_hosting');\n  const otherwise",
      ],
    ],
    engine: 'media-expiry',
  },
  'one-warning-a-day': {
    rule: 'MED-10: one mail reports all videos of a day, although their warnings come one after another',
    file: 'domain/media/erasure/expiry.ts',
    changes: [
      ['await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);\n  const since', 'const since'],
    ],
    engine: 'media-expiry',
  },
  'erasure-woken': {
    rule: 'ENG-3: the removal of a student wakes the run that follows its erasure',
    file: 'domain/erasures/erasures.ts',
    changes: [["await wake(tx, 'personErasure', [", "if (person.subjectId === '') await wake(tx, 'personErasure', ["]],
    engine: 'person-erasures',
  },
  'marker-before-the-end': {
    rule: 'ERS-20: an erasure ends only when its marker is in the bucket',
    file: 'domain/erasures/person-step.ts',
    changes: [['await writeMarker(storage, person,', 'if (counts.buckets) await writeMarker(storage, person,']],
    engine: 'person-erasures',
  },
  'expiry-woken': {
    rule: 'ENG-3: a change that gives videos a date wakes their runs',
    file: 'domain/media/erasure/expiry.ts',
    changes: [["if (files.length > 0) await wake(tx, 'mediaExpiry', files, now);", '']],
    engine: 'media-expiry',
  },
  'file-removed-again': {
    rule: 'DEC-57: a file of an import that arrives late is removed again',
    file: 'domain/access/imports/step.ts',
    changes: [['stored.fileBytes === null && now < uploadEnds(stored)', 'stored.fileBytes === null && now < 0']],
    engine: 'imports',
  },
  'removed-not-recreated': {
    rule: 'DEC-57: an import does not bring removed students back',
    file: 'domain/students/students.ts',
    changes: [['  await noteAddressLeft(tx, vault, student);', '  void noteAddressLeft;']],
    engine: 'imports',
  },
  'mails-of-ended-runs': {
    rule: 'AUTO-13: an e-mail that the server deferred is not sent after the automation run has ended',
    file: 'domain/automations/running/run-step.ts',
    changes: [["if (current?.status === 'exited') await skipWaitingMails(tx, current.id, current.exitReason);", '']],
    engine: 'automations',
  },
  'gate-of-automations': {
    rule: 'AUTO-17: after a pause, the gate releases the students who waited',
    file: 'domain/automations/states.ts',
    changes: [["if (to.gateLooksAt !== null) await wake(tx, 'automationGate', [{ id, clubId }], now);", '']],
    engine: 'automations',
  },
  'newer-check-wins': {
    rule: 'CAMP-40: an earlier check of a domain does not overwrite the result of a later check',
    file: 'domain/mail/domains/checking.ts',
    changes: [
      ['if (!domain || (domain.checkedAt !== null && domain.checkedAt > now)) return;', 'if (!domain) return;'],
    ],
    engine: 'mail-domains',
  },
  'check-by-hand-woken': {
    rule: 'ENG-3: a requested check wakes the workflow of the mail domain',
    file: 'domain/mail/domains/checking.ts',
    changes: [["await deps.db.transaction((tx) => wake(tx, 'mailDomain', [domain], now));", '']],
    engine: 'mail-domains',
  },
  'digest-woken': {
    rule: 'ENG-3: the transaction that creates a digest wakes the workflow that sends the digest',
    file: 'domain/community/digests/beginning.ts',
    changes: [["await wake(tx, 'spaceDigest', startedDigests, now);", '']],
    engine: 'digests',
  },
  'digest-waits-for-removals': {
    rule: 'COMM-18: a digest that is being filled waits for removals in progress, and omits removed students',
    file: 'domain/community/digests/step.ts',
    changes: [['ORDER BY id FOR KEY SHARE)', 'ORDER BY id)']],
    engine: 'digests',
  },
  'student-before-session': {
    rule: 'ENG-6: a mail about a session locks the student before the session, as a removal does',
    file: 'domain/mentorships/telling.ts',
    changes: [['    await lockStudentOf(tx, id);', '    void lockStudentOf;']],
    engine: 'mentorships',
  },
  'one-winner-of-an-hour': {
    rule: 'MENT-6: a database constraint prevents two sessions of a mentor at the same time',
    file: 'domain/mentorships/booking.ts',
    changes: [],
    sql: 'ALTER TABLE mentorship_sessions DROP CONSTRAINT mentorship_sessions_mentor',
    engine: 'mentorships',
  },
  'erased-stays-ended': {
    rule: 'ANS-4: an answer that a deletion has ended gets no more text',
    file: 'domain/agents/answers/answer-end.ts',
    changes: [
      [
        "AND call_no = ${callNo} AND status = 'generating' FOR NO KEY UPDATE`",
        'AND call_no = ${callNo} FOR NO KEY UPDATE`',
      ],
    ],
    engine: 'answers',
  },
  'index-behind-foreign-keys': {
    rule: 'ENG-6: the removal of a lesson does not block a transaction that refers to the lesson and holds the lock of the club',
    file: 'domain/learning/courses/lessons.ts',
    changes: [['WHERE id = ${lessonId} FOR NO KEY UPDATE', 'WHERE id = ${lessonId} FOR UPDATE']],
    engine: 'sources',
  },
  'club-held-by-index': {
    rule: 'ANS-7: if two changes of an agent’s material run concurrently, the later one sees both',
    file: 'domain/knowledge/sources.ts',
    changes: [
      ['SELECT 1 FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE', 'SELECT 1 FROM clubs WHERE id = ${clubId}'],
    ],
    engine: 'sources',
  },
  'arrival-in-one-statement': {
    rule: 'ENG-6: a transaction that has not locked a student changes a row of the student only once',
    file: 'domain/media/storage/arrival.ts',
    changes: [
      [
        'await tx.run(sql`\n      UPDATE media SET ${becomes}',
        'await tx.run(sql`UPDATE media SET updated_at = ${now} WHERE id = ${id}`);\n    await tx.run(sql`\n      UPDATE media SET ${becomes}',
      ],
    ],
    engine: 'media-processing',
  },
  'student-before-avatar': {
    rule: 'ENG-6: the step that replaces a student’s picture locks the student before the files',
    file: 'domain/media/processing/record.ts',
    changes: [
      [
        "if (claim.purpose === 'avatar') await replaceAvatarBy",
        "await tx.run(sql`SELECT FROM media WHERE id = ${claim.id} FOR NO KEY UPDATE`);\n    if (claim.purpose === 'avatar') await replaceAvatarBy",
      ],
    ],
    engine: 'media-processing',
  },
  'late-arrivals-erased': {
    rule: 'MED-20: an object that arrives later at the address of an erased file is erased too',
    file: 'domain/media/erasure/erasure.ts',
    changes: [['const lastArrival = sql`upload_expires_at +', 'const lastArrival = sql`upload_expires_at - 100 *']],
    engine: 'media-processing',
  },
  'arrival-woken': {
    rule: 'ENG-3: a change that records the arrival of a file wakes its processing',
    file: 'domain/media/storage/arrival.ts',
    changes: [["await wake(tx, 'mediaProcessing', [{ id, clubId }], now);", '']],
    engine: 'media-processing',
  },
  'version-still-wanted': {
    rule: 'ENG-2: the content of a version is recorded only while this version is wanted',
    file: 'domain/knowledge/indexing/record.ts',
    changes: [['AgentSource, { id, fence, wantedVersion }', 'AgentSource, { id, fence }']],
    engine: 'sources',
  },
};
