/**
 * A test can end this process at a failpoint, to check the state that a crash there leaves behind. The variable `FAILPOINT` names one of
 * these failpoints:
 * - a step of a delivery: `claimed`, `posted`
 * - a first attempt without a run: `direct_claimed`, `direct_posted`, `direct_recorded`
 * - the relay: `fanned_out`, `wake_sent`, `handed_over` (lost direct attempts were given to runs)
 * - a step of an answer: `answer_claimed`, `answer_called` (the stream exists, but is not recorded), `answer_begun`, `answer_delta`
 *   (some words are committed), `answer_ending`, `answer_ended`
 * - a step that indexes a source: `source_claimed`, `source_ocr` (before OCR), `source_read`, `source_recorded`, `source_batch_removed`
 * - a step of a file: `file_claimed`, `file_identified`, `file_rendered` (stored, not recorded), `file_recorded`
 * - a step of a file that moves to another bucket: `move_claimed`, `move_copied`, `move_recorded`
 * - a step of subtitles: `speech_claimed`, `speech_made`, `speech_stored` (stored, not recorded), `speech_recorded`
 * - a step of a sales notice: `notice_claimed`, `notice_recorded`
 * - a step of an import: `batch_read`, `batch_written` (not committed), `batch_recorded`
 * - a step of a bulk job: `bulk_batch_written` (not committed), `bulk_batch_recorded`
 * - a mail of a campaign: `mail_claimed`, `mail_handed_over`, `mail_recorded`
 * - a transactional mail: `transactional_claimed`, `transactional_handed_over`
 * - a step of an automation's run: `run_step_decided`, `run_step_done` (not committed), `run_step_recorded`, `run_mail_claimed`,
 *   `run_mail_handed_over`
 * - a step of a charge for overage: `overage_claimed`, `overage_searched` (no item was found), `overage_keyed` (the terms are fixed),
 *   `overage_charged` (not recorded), `overage_recorded`
 * - a delivery report in the mailbox: `report_recorded` (not deleted), `report_deleted` (the progress is not recorded)
 * - a step of a student's export: `export_claimed`, `export_written` (on the disk of the worker), `export_uploaded` (not recorded),
 *   `export_recorded`
 * - a step of a club's export: `club_export_piece_stored` (not recorded), `club_export_piece_recorded`, `club_export_archive_stored`
 * - a batch of rows of an erased club: `erased_rows_written` (not committed), `erased_rows_recorded`
 * - a step of a club's erasure, before its record: `erasure_closing`, `erasure_rows`, `erasure_runs`, `erasure_objects`
 * - a step that completes a course for students: `course_page_read`, `course_student_judged` (committed), `course_page_recorded`
 *
 * @returns a function that ends the process, like SIGKILL does, when the process first reaches the failpoint
 */
export function failpointFrom(env: Readonly<Record<string, string | undefined>>): (name: string) => Promise<void> {
  const armed = env['FAILPOINT'];
  if (armed === undefined || armed === '') return async () => {};
  return async (name) => {
    if (name !== armed) return;
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => {}); // the process must run no other code before the signal ends it
  };
}
