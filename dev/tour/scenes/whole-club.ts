/**
 * Scene: many features of one club. One sale gives access to a folder of files and a private space. The student downloads the folder, talks
 * with the club's owner, books an hour with her, and gets the calendar entry.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Message } from '../../mailbox/mailbox.ts';
import { Problem } from '../../problem.ts';
import { picture } from '../handout.ts';
import { archiveIsDownloaded, folderIsFilled } from './repository.ts';
import { wordingIn } from '../../../domain/language/wording.ts';
import { requireOk, runPage, until, type Club, type Scene } from '../scene.ts';
import { sendAndComplete } from '../upload.ts';

/** A student with an earlier purchase, and the shop of that purchase. */
export interface Buyer {
  readonly token: string;
  readonly name: string;
  readonly email: string;
  /** The address of the shop's notices. */
  readonly shop: string;
}

/** @param from the number with which the sections of this scene begin @returns links to further details */
export async function wholeClubIsOpened(
  scene: Scene,
  club: Club,
  buyer: Buyer,
  from: number,
): Promise<{ run: string; mail: Message }> {
  const { begin } = scene;
  const student = { clubId: club.clubId, token: buyer.token };

  begin(from, 'club.opened');
  const folder = await folderIsFilled(scene, club);
  const spaceId = await spaceIsOpened(scene, club);
  await bothAreSold(scene, club, buyer, { ...folder, spaceId });

  begin(from + 1, 'club.downloads', { name: buyer.name });
  await archiveIsDownloaded(scene, student, folder);

  begin(from + 2, 'club.post');
  await studentIsAnswered(scene, club, student, spaceId);

  begin(from + 3, 'club.hour');
  return hourIsBooked(scene, club, student, buyer.email);
}

/** @returns the space's id */
async function spaceIsOpened(scene: Scene, { clubId, token }: Club): Promise<string> {
  const body = { name: 'The Quay', private: true, hidden: false, auto_join: true, digest_by_default: false };
  const params = { path: { clubId } };
  const space = await scene.client(token).POST('/v1/clubs/{clubId}/community/spaces', { params, body });
  return requireOk(space).data.id;
}

/** @throws Problem if the sale does not open both the folder and the space */
async function bothAreSold(
  scene: Scene,
  { clubId, token }: Club,
  buyer: Buyer,
  { repositoryId, publicId, spaceId }: { repositoryId: string; publicId: string; spaceId: string },
): Promise<void> {
  const administrator = scene.client(token);
  const params = { path: { clubId } };
  const openings = [
    { name: 'Knot cards', opens: { kind: 'repository', repository_id: repositoryId }, free: false },
    { name: 'The Quay', opens: { kind: 'space', space_id: spaceId }, free: false },
  ] as const;
  const deliveries: string[] = [];
  for (const body of openings)
    deliveries.push(requireOk(await administrator.POST('/v1/clubs/{clubId}/deliveries', { params, body })).data.id);
  const product = `season-${randomBytes(3).toString('hex')}`;
  requireOk(
    await administrator.POST('/v1/clubs/{clubId}/products', {
      params,
      body: { platform: 'generic', external_id: product, name: 'The season', delivery_ids: deliveries },
    }),
  );
  requireOk(
    await scene.quietClient().POST('/webhooks/{platform}/{token}', {
      params: { path: { platform: 'generic', token: buyer.shop } },
      body: {
        event: 'purchase.paid',
        occurred_at: new Date().toISOString(),
        product: { id: product },
        buyer: { email: buyer.email, name: buyer.name },
        purchase: { id: randomUUID(), amount: 9_900, currency: 'EUR' },
      },
    }),
  );
  scene.say('   POST /webhooks/generic/… → 202');
  const quiet = scene.quietClient(buyer.token);
  const ofFolder = { path: { clubId, publicId } };
  const { file_count: files } = await until('The access of the buyer', async () => {
    const { data } = await quiet.GET('/v1/clubs/{clubId}/classroom/repositories/{publicId}', { params: ofFolder });
    return data?.data;
  });
  const ofSpace = { path: { clubId, spaceId } };
  const space = requireOk(
    await quiet.GET('/v1/clubs/{clubId}/classroom/community/spaces/{spaceId}', { params: ofSpace }),
  ).data;
  if (!space.joined) throw new Problem('The sale has not made the buyer a member of the space.');
  scene.tell('club.access', { name: buyer.name, files, space: space.name });
}

/** @throws Problem if the post does not show its author, or the answer is not from the owner */
async function studentIsAnswered(scene: Scene, club: Club, student: Club, spaceId: string): Promise<void> {
  const { tell, show } = scene;
  const { clubId } = club;
  const classroom = scene.client(student.token);
  const reserved = requireOk(
    await classroom.POST('/v1/clubs/{clubId}/classroom/avatar', {
      params: { path: { clubId } },
      body: { file_name: 'Me.png', mime: 'image/png', size_bytes: picture.length },
    }),
  );
  await sendAndComplete(scene, student, reserved, picture);
  const post = requireOk(
    await classroom.POST('/v1/clubs/{clubId}/classroom/community/spaces/{spaceId}/posts', {
      params: { path: { clubId, spaceId } },
      body: { id: randomUUID(), title: 'My bowline slips', body: 'It holds on deck and *slips* in the water. Why?' },
    }),
  ).data;
  const avatarResponse = await fetch(post.author?.avatar_url ?? '');
  tell('club.posts', { name: post.author?.name ?? '', title: post.title ?? '', status: avatarResponse.status });
  if (!avatarResponse.ok) throw new Problem('The post does not show the picture of its author.');

  const params = { path: { clubId, publicId: post.public_id } };
  const comments = '/v1/clubs/{clubId}/classroom/posts/{publicId}/comments';
  requireOk(
    await scene.client(club.token).POST(comments, { params, body: { body: 'Leave a longer end: *wet rope slips*.' } }),
  );
  const [answer] = requireOk(await classroom.GET(comments, { params })).data;
  show(answer?.body ?? '', 'club.answers', { name: answer?.author?.name ?? '' });
  if (answer?.author?.kind !== 'administrator') throw new Problem('The answer of the owner is missing.');
}

/** @throws Problem if the confirmation has no calendar entry */
async function hourIsBooked(
  scene: Scene,
  { clubId, token }: Club,
  student: Club,
  email: string,
): Promise<{ run: string; mail: Message }> {
  const { tell, show, mailbox, language } = scene;
  const administrator = scene.client(token);
  const mentor = requireOk(await administrator.GET('/v1/me')).data;
  const mentorship = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/mentorships', {
      params: { path: { clubId } },
      body: {
        title: 'Rigging clinic',
        mentor_id: mentor.id,
        duration_minutes: 60,
        time_zone: 'Europe/Berlin',
        weekly_hours: [1, 2, 3, 4, 5, 6, 7].map((weekday) => ({ weekday, from: '09:00', to: '17:00' })),
        meeting_url: 'https://meet.example.com/rigging',
      },
    }),
  ).data;
  requireOk(
    await administrator.PATCH('/v1/clubs/{clubId}/mentorships/{mentorshipId}', {
      params: { path: { clubId, mentorshipId: mentorship.id } },
      body: { status: 'published' },
    }),
  );
  const classroom = scene.client(student.token);
  const params = { path: { clubId, publicId: mentorship.public_id } };
  const [slot] = requireOk(await classroom.GET('/v1/clubs/{clubId}/classroom/mentorships/{publicId}/slots', { params }))
    .data.slots;
  if (slot === undefined) throw new Problem('No hour is free.');
  const session = requireOk(
    await classroom.POST('/v1/clubs/{clubId}/classroom/mentorships/{publicId}/bookings', {
      params,
      body: { starts_at: slot.starts_at, agenda: 'My backstay slips.' },
    }),
  ).data;
  const { mentor_name: mentorName, starts_at: at, cancel_until: limit = '' } = session;
  tell('club.booked', { mentor: mentorName, at, until: limit });

  const clubName = mentor.organizations.find((one) => one.organization_id === clubId)?.name ?? '';
  const subject = wordingIn(language).say('mail.mentorship_booked.subject', { club: clubName, at: '' });
  const mail = await mailbox.waitFor(email, (each) => each.startsWith(subject.trim()));
  if (!/filename="?session\.ics/.test(await mailbox.sourceOf(mail)))
    throw new Problem('The confirmation has no entry for the calendar.');
  show(mailbox.linkTo(mail), 'club.confirmed', { subject: mail.subject });
  return { run: runPage(scene, 'mentorshipSession', session.id), mail };
}
