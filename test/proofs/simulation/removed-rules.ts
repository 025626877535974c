/**
 * Rules of the engine that a run of `npm run prove -- simulate --without NAME` does without: the simulation must find each removal
 * (docs/reference/proofs.md says how soon).
 */

export interface RemovedRule {
  /** The rule, as docs/reference/engine-rules.md has it. */
  rule: string;
  file: string;
  /** What stands in the file once for each pair, and what stands there without the rule; none where only the database changes. */
  changes: readonly (readonly [find: string, put: string])[];
  /** What changes in the database. */
  sql?: string;
  engine: string;
  /** Of the command, where the usual schedules seldom meet the rule; what is given by hand comes after them. */
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
    rule: 'ENG-2: a record counts only under the fence of its claim',
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
    rule: 'ENG-2: an attempt whose lease ran out is interrupted',
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
      ['signaled = false; // before the step', '// before the step'],
      ['const next = await step(Date.now());', 'const next = await step(Date.now()); signaled = false;'],
    ],
    engine: 'webhooks',
  },
  'signal-at-end': {
    rule: 'ENG-1: a run does not end over a signal that it has not answered',
    file: 'workflows/step-workflow.ts',
    changes: [['else if (next.done && !signaled)', 'else if (next.done)']],
    engine: 'webhooks',
  },
  'wake-with-row': {
    rule: 'ENG-3: who makes a row due writes a wake',
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
    rule: 'ENG-3: a wake that was raised meanwhile is not deleted',
    file: 'platform/engine/wakes.ts',
    changes: [
      [
        'AND workflow_id = $2 AND seq = $3 RETURNING 1',
        'AND workflow_id = $2 AND seq <> 0 * $3::bigint - 1 RETURNING 1',
      ],
    ],
    engine: 'webhooks',
    arguments: ['--paced', '--commands', '40'],
  },
  'wake-of-ending-run': {
    rule: 'ENG-3: "already started" does not swallow a wake',
    file: 'worker/relay/carry-wakes.ts',
    changes: [['workflows.signalWithStart(wake));', 'workflows.start(wake, []));']],
    engine: 'webhooks',
  },
  'fact-until-started': {
    rule: 'ENG-4: a fact is deleted once its workflows are started',
    file: 'worker/relay/carry-facts.ts',
    changes: [
      ["await failpoint('fanned_out');", 'await removeFacts(db.source, [fact]);'],
      ['await removeFacts(db.source, facts);', ''],
    ],
    engine: 'webhooks',
  },
  'fact-lease': {
    rule: 'ENG-4: facts whose relay died are taken up by another',
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
    rule: 'ENG-8: one delivery for each event and endpoint: its id is made of theirs',
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
    rule: 'ENG-6: a fan-out locks student and endpoints before it reads',
    file: 'domain/webhooks/events/audience.ts',
    changes: [
      ['FROM students WHERE id = $2 FOR SHARE)', 'FROM students WHERE id = $2)'],
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
    rule: 'HOOK-18: a relay hands over what was not recorded within its lease',
    file: 'worker/relay/relay.ts',
    changes: [['      await handOverLostAttempts();\n', '']],
    engine: 'webhooks-directly',
  },
  'held-successes-alone': {
    rule: 'HOOK-19: what the writer passes over is recorded alone',
    file: 'domain/webhooks/attempts/record-success.ts',
    changes: [["=== 'succeeded' : recordAlone(db, accepted)", "=== 'succeeded' : true"]],
    engine: 'webhooks-directly',
  },
  'gate-called': {
    rule: 'HOOK-5: who opens an endpoint calls its gate',
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
    rule: 'HOOK-6: a gate ends only where nothing is parked',
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
    rule: 'BILL-6: a charge that was made is found before it is given up',
    file: 'domain/billing/settling.ts',
    changes: [
      [
        "return { result: 'unknown', code: error instanceof Error ? error.name : 'unknown' };",
        "return { result: 'declined' };",
      ],
    ],
    engine: 'add-ons',
  },
  'removal-of-bodies': {
    rule: 'HOOK-11: a removal purges the bodies of its student',
    file: 'domain/webhooks/student-removal.ts',
    changes: [
      ['DELETE FROM webhook_bodies kept USING', 'DELETE FROM webhook_bodies kept USING (SELECT WHERE false) nothing,'],
    ],
    engine: 'webhooks',
  },
  'left-campaigns': {
    rule: 'CAMP-5: who has left campaigns gets none',
    file: 'domain/campaigns/sending.ts',
    changes: [["WHEN suppression.left_campaigns_at IS NOT NULL THEN 'unsubscribed'", '']],
    engine: 'campaigns',
  },
  'copies-left-behind': {
    rule: 'MED-27: a copy that an earlier claim may still be writing has a row that erases it',
    file: 'domain/media/library/moving.ts',
    changes: [['if (earlier !== null) {', 'if (earlier !== null && earlier === undefined) {']],
    engine: 'media-moves',
  },
  'addresses-kept': {
    rule: 'MED-6: an address of a file that has moved leads to it until it ends',
    file: 'domain/media/library/moving.ts',
    changes: [['now.getTime() + movingRules.readableMs[file.visibility]', 'now.getTime()']],
    engine: 'media-moves',
  },
  'uploaded-track-stays': {
    rule: 'MED-34: an uploaded track is never replaced by a made one',
    file: 'domain/media/transcriptions/step.ts',
    changes: [["if (!isThere || before?.madeBy === 'upload') return;", 'if (!isThere) return;']],
    engine: 'media-transcriptions',
  },
  'refund-once': {
    rule: 'EVT-10: a purchase is refunded once, however often that is sent',
    file: 'domain/sales/purchases/purchases.ts',
    changes: [["before.status === 'paid' && after.status !== 'paid'", "after.status !== 'paid'"]],
    engine: 'sales',
  },
  'end-of-access-woken': {
    rule: 'ENG-3: who changes the access of a subscription wakes the run of its end',
    file: 'domain/access/enrollments/rows.ts',
    changes: [["await wake(tx, 'subscriptionEnd'", "if (id === '') await wake(tx, 'subscriptionEnd'"]],
    engine: 'sales',
  },
  'fill-woken': {
    rule: 'ENG-3: who begins the filling of a space wakes its run',
    file: 'domain/community/spaces.ts',
    changes: [["await wake(tx, 'spaceFill', [{ id: spaceId, clubId }], now);", '']],
    engine: 'space-fills',
  },
  'completions-woken': {
    rule: 'ENG-3: who asks for the completions of a course wakes their run',
    file: 'domain/watches/completions.ts',
    changes: [["await wake(tx, 'courseCompletion', startedPasses, now);", '']],
    engine: 'course-completions',
  },
  'who-left-stays-out': {
    rule: 'COMM-8: who has left or is banned is made no member again, and is not counted',
    file: 'domain/joining/joining.ts',
    changes: [
      ['WHERE standing.left_at IS NULL AND standing.banned_at IS NULL\n       AND (standing', 'WHERE (standing'],
    ],
    engine: 'space-fills',
  },
  'plan-changed-meanwhile': {
    rule: 'MED-10: a plan that changes while a video is being removed keeps it',
    file: 'domain/media/erasure/expiry.ts',
    changes: [["if (await hasFeature(tx, clubId, 'video_hosting')) throw new PlanChanged();", '']],
    engine: 'media-expiry',
  },
  'files-before-plan-change': {
    rule: 'ENG-6: upkeep locks files before the row that tells of a plan’s change',
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
    rule: 'MED-10: one mail tells of all videos of a day, whose warnings come one after another',
    file: 'domain/media/erasure/expiry.ts',
    changes: [
      ['await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);\n  const since', 'const since'],
    ],
    engine: 'media-expiry',
  },
  'expiry-woken': {
    rule: 'ENG-3: who gives videos a date wakes their runs',
    file: 'domain/media/erasure/expiry.ts',
    changes: [["if (files.length > 0) await wake(tx, 'mediaExpiry', files, now);", '']],
    engine: 'media-expiry',
  },
  'file-removed-again': {
    rule: 'DEC-57: the file of an import that may still arrive is removed again',
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
    rule: 'AUTO-13: an e-mail that the server put off is not sent once its run has left',
    file: 'domain/automations/running/run-step.ts',
    changes: [["if (current?.status === 'exited') await skipWaitingMails(tx, current.id, current.exitReason);", '']],
    engine: 'automations',
  },
  'gate-of-automations': {
    rule: 'AUTO-17: the gate lets go who was held by a pause',
    file: 'domain/automations/states.ts',
    changes: [["if (to.gateLooksAt !== null) await wake(tx, 'automationGate', [{ id, clubId }], now);", '']],
    engine: 'automations',
  },
  'newer-check-wins': {
    rule: 'CAMP-40: what an earlier check of a domain found does not overwrite what a later one did',
    file: 'domain/mail/domains/checking.ts',
    changes: [
      ['if (!domain || (domain.checkedAt !== null && domain.checkedAt > now)) return;', 'if (!domain) return;'],
    ],
    engine: 'mail-domains',
  },
  'check-by-hand-woken': {
    rule: 'ENG-3: a check that is asked for wakes the run of its domain, whose next look is another then',
    file: 'domain/mail/domains/checking.ts',
    changes: [["await deps.db.transaction((tx) => wake(tx, 'mailDomain', [domain], now));", '']],
    engine: 'mail-domains',
  },
  'digest-woken': {
    rule: 'ENG-3: who begins the digest of a date wakes its run',
    file: 'domain/community/digests/beginning.ts',
    changes: [["await wake(tx, 'spaceDigest', startedDigests, now);", '']],
    engine: 'digests',
  },
  'digest-waits-for-removals': {
    rule: 'COMM-18: a digest that is being filled waits for removals under way, and leaves out who was removed',
    file: 'domain/community/digests/step.ts',
    changes: [['ORDER BY id FOR KEY SHARE)', 'ORDER BY id)']],
    engine: 'digests',
  },
  'student-before-session': {
    rule: 'ENG-6: who tells of a session holds its student first, as a removal does',
    file: 'domain/mentorships/telling.ts',
    changes: [['    await lockStudentOf(tx, id);', '    void lockStudentOf;']],
    engine: 'mentorships',
  },
  'one-winner-of-an-hour': {
    rule: 'MENT-6: a mentor is at one place, which a constraint holds',
    file: 'domain/mentorships/booking.ts',
    changes: [],
    sql: 'ALTER TABLE mentorship_sessions DROP CONSTRAINT mentorship_sessions_mentor',
    engine: 'mentorships',
  },
  'erased-stays-ended': {
    rule: 'ANS-4: an answer that a deletion has ended gets no words any more',
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
    rule: 'ENG-6: who removes a lesson keeps nobody from naming it, who holds the club it waits for',
    file: 'domain/learning/courses/lessons.ts',
    changes: [['WHERE id = ${lessonId} FOR NO KEY UPDATE', 'WHERE id = ${lessonId} FOR UPDATE']],
    engine: 'sources',
  },
  'club-held-by-index': {
    rule: 'ANS-7: of two changes of the material that meet, the later sees both',
    file: 'domain/knowledge/sources.ts',
    changes: [
      ['SELECT 1 FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE', 'SELECT 1 FROM clubs WHERE id = ${clubId}'],
    ],
    engine: 'sources',
  },
  'arrival-in-one-statement': {
    rule: 'ENG-6: a row that names a student is changed once in a transaction that does not hold the student',
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
    rule: 'ENG-6: who replaces the picture of a student holds the student before the files',
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
    rule: 'MED-20: what may still arrive at the address of a file that went is erased again',
    file: 'domain/media/erasure/erasure.ts',
    changes: [['const lastArrival = sql`upload_expires_at +', 'const lastArrival = sql`upload_expires_at - 100 *']],
    engine: 'media-processing',
  },
  'arrival-woken': {
    rule: 'ENG-3: who settles the arrival of a file wakes its processing',
    file: 'domain/media/storage/arrival.ts',
    changes: [["await wake(tx, 'mediaProcessing', [{ id, clubId }], now);", '']],
    engine: 'media-processing',
  },
  'version-still-wanted': {
    rule: 'ENG-2: what was read is recorded only while that version is wanted',
    file: 'domain/knowledge/indexing/record.ts',
    changes: [['AgentSource, { id, fence, wantedVersion }', 'AgentSource, { id, fence }']],
    engine: 'sources',
  },
};
