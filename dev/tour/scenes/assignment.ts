/**
 * Scene: a student hands in a picture for an assignment that requires a picture. The owner requests changes in a comment, the student sends
 * the work again, and the owner approves it.
 */
import { Problem } from '../../problem.ts';
import { handoutIsPublished, picture } from '../handout.ts';
import { requireOk, until, type Club, type Scene } from '../scene.ts';
import { sendAndComplete } from '../upload.ts';

/** @param student a session of the student, the address of their mails, and their lesson */
export async function workIsReturnedAndApproved(
  scene: Scene,
  { clubId, token }: Club,
  student: { token: string; email: string; lessonId: string; publicId: string },
): Promise<void> {
  const { tell, show, mailbox } = scene;
  const [administrator, classroom] = [scene.client(token), scene.client(student.token)];
  const params = { path: { clubId } };
  const handout = await handoutIsPublished(scene, { clubId, token });
  const assignment = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/lessons/{lessonId}/assignments', {
      params: { path: { clubId, lessonId: student.lessonId } },
      body: {
        prompt: 'Tie a *bowline* like this one, and send a picture of it.',
        media_ids: [handout.id],
        max_files: 1,
        required: true,
      },
    }),
  ).data;
  const inLesson = { path: { clubId, publicId: student.publicId } };
  const early = await classroom.PUT('/v1/clubs/{clubId}/classroom/lessons/{publicId}/completion', { params: inLesson });
  if (early.error?.error.code !== 'assignment_open')
    throw new Problem('The lesson could be completed without the work.');
  show('assignment_open', 'assignment.open');

  const reserved = requireOk(
    await classroom.POST('/v1/clubs/{clubId}/classroom/assignment-files', {
      params,
      body: { file_name: 'bowline.png', mime: 'image/png' },
    }),
  );
  const fileId = await sendAndComplete(scene, { clubId, token: student.token }, reserved, picture);
  const send = async (body: { text: string; file_ids?: string[] }) =>
    requireOk(
      await classroom.POST('/v1/clubs/{clubId}/classroom/assignments/{assignmentId}/submissions', {
        params: { path: { clubId, assignmentId: assignment.id } },
        body,
      }),
    ).data;
  const review = async (body: { attempt: number; outcome: 'approved' | 'changes_requested'; comment?: string }) =>
    requireOk(
      await administrator.POST('/v1/clubs/{clubId}/assignment-submissions/{submissionId}/reviews', {
        params: { path: { clubId, submissionId: first.id } },
        body,
      }),
    ).data;
  const first = await send({ text: 'Here is my bowline.', file_ids: [fileId] });
  await review({
    attempt: 1,
    outcome: 'changes_requested',
    comment: 'The loop slips. How do you keep it from slipping?',
  });
  const mail = await until('The mail about the review', async () => {
    const newest = await mailbox.waitFor(student.email);
    return newest.text.includes(`/assignments/submissions/${first.id}`) ? newest : undefined;
  });
  show(mailbox.linkTo(mail), 'mail_arrived', { subject: mail.subject });
  await send({ text: 'I pull the standing part first.' });
  const { status } = await review({ attempt: 2, outcome: 'approved' });
  tell('assignment.second', { status });
}
