/**
 * Places where a test stops this process to see what is left behind: `FAILPOINT=claimed` or `posted` (a step of a delivery),
 * `answer_claimed`, `answer_called` (the stream is there, and not yet recorded), `answer_begun`, `answer_delta` (some words are
 * committed), `answer_ending` or `answer_ended` (a step of an answer), `source_claimed`, `source_read` or `source_recorded` (a
 * step of an indexing), `file_claimed`, `file_identified`, `file_rendered` (stored, and not recorded) or `file_recorded` (a step of a file), `move_claimed`, `move_copied` or `move_recorded` (a step of a file that changes its bucket), `notice_claimed` or `notice_recorded` (a step of a sales notice), `batch_read`, `batch_written` (not
 * committed) or `batch_recorded` (a step of an import), `mail_claimed`, `mail_handed_over` or `mail_recorded` (a mail of a
 * campaign), `transactional_claimed` or `transactional_handed_over` (a transactional mail), `run_step_decided`, `run_step_done` (not committed), `run_step_recorded`, `run_mail_claimed` or
 * `run_mail_handed_over` (a step of an automation's run), `fanned_out` or `wake_sent` (the relay). The process ends at the first pass, as by SIGKILL.
 */
export function failpointFrom(env: Readonly<Record<string, string | undefined>>): (name: string) => Promise<void> {
  const armed = env['FAILPOINT'];
  if (armed === undefined || armed === '') return async () => {};
  return async (name) => {
    if (name !== armed) return;
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => {}); // the signal ends the process before anything else runs
  };
}
