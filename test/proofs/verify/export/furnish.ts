/** Furnishes a club through the public API, with names in several scripts. */
import { randomUUID } from 'node:crypto';
import { uploadCopy, type Owner } from './api.ts';

const studentCount = 40;

/** Creates records of most types that a club can create. */
export async function furnish(owner: Owner): Promise<void> {
  const make = async (path: string, body: object) => (await owner.ask('POST', path, body)).data;
  await owner.ask('PATCH', '', { name: 'Hafen-Akademie ⚓', time_zone: 'Europe/Lisbon' });
  const [tag] = [await make('/tags', { name: 'VIP 会員' }), await make('/tags', { name: 'Crew' })];
  await make('/levels', { name: 'Bosun', points: 10 });
  const files = [
    await uploadCopy(owner, {
      name: 'knots.txt',
      mime: 'text/plain',
      bytes: Buffer.from('A bowline holds.\n'.repeat(5_000)),
    }),
    await uploadCopy(owner, {
      name: 'لوائح.txt',
      mime: 'text/plain',
      bytes: Buffer.from('قواعد الميناء\n'),
      title: 'Rules/..',
    }),
  ];
  const folder = await make('/media/folders', { name: 'Handouts' });
  await owner.ask('PATCH', `/media/${files[0]}`, { folder_id: folder.id });
  const courses: { id: string }[] = [];
  for (const title of ['Sailing basics', 'はじめてのヨット', 'مدخل إلى الإبحار'])
    courses.push(await course(owner, title));
  const deliveries: { id: string }[] = [];
  for (const { id } of courses)
    deliveries.push(
      await make('/deliveries', { name: `Access ${deliveries.length}`, opens: { kind: 'course', course_id: id } }),
    );
  const students: string[] = [];
  for (let number = 0; number < studentCount; number++) {
    const names = ['Ada', '山田 太郎', 'علي حسن', 'Zoë 🚣'];
    students.push(
      (
        await make('/students', {
          name: `${names.at(number % names.length)} ${number}`,
          email: `student-${number}@example.com`,
        })
      ).id,
    );
  }
  for (const [index, student_id] of students.entries()) {
    if (index % 3 === 0)
      await make('/enrollments', { student_id, delivery_id: deliveries.at(index % deliveries.length)?.id });
    if (index % 10 === 0) await owner.ask('PUT', `/students/${student_id}/tags/${tag.id}`);
    if (index % 10 === 1)
      await owner.ask('POST', `/students/${student_id}/points`, { id: randomUUID(), points: 15, note: 'Helped' });
  }
  await make(`/courses/${courses[0]?.id}/cohorts`, { name: 'Spring', starts_at: '2027-03-01T00:00:00.000Z' });
  await make('/registration-links', { name: 'Open day', delivery_ids: [deliveries[0]?.id], max_uses: 10 });
  await make('/products', {
    platform: 'hotmart',
    external_id: 'p-1',
    name: 'Basics',
    delivery_ids: [deliveries[0]?.id],
  });
  await make('/community/spaces', { name: 'Quay', description: 'Talk' });
  const repository = await make('/repositories', { title: 'Cards', description: 'For print' });
  await owner.ask('PUT', `/repositories/${repository.id}/items`, { media_ids: files });
  await make('/mentorships', {
    title: 'Ask the captain',
    mentor_id: owner.administratorId,
    duration_minutes: 30,
    time_zone: 'Europe/Lisbon',
    weekly_hours: [{ weekday: 1, from: '09:00', to: '12:00' }],
  });
  await owner.ask('PUT', '/mail/sender', { from_name: 'Harbour', postal_address: 'Quay 1, Lisbon' });
  await make('/campaigns', {
    name: 'Spring',
    content: { subject: 'Ahoy {{student_first_name|sailor}}', blocks: [{ kind: 'heading', text: 'Ahoy', level: 1 }] },
  });
  await make('/workflows', { name: 'Welcome' });
  const agent = await make('/agents', { name: 'Knot helper', instructions: 'Answer shortly.' });
  await owner.ask('PUT', `/agents/${agent.id}/material`, {
    course_ids: [courses[0]?.id],
    lesson_ids: [],
    media_ids: [],
  });
  await make('/api-keys', { name: 'CRM', scopes: ['students:read'] });
  await owner.ask('PUT', '/branding', { accent_color: '#123456', legal_footer: 'Harbour Ltd' });
}

async function course(owner: Owner, title: string): Promise<{ id: string }> {
  const { data } = await owner.ask('POST', '/courses', { title, description: `About ${title}`, hours: 3 });
  for (const part of ['Ropes', 'Sails']) {
    const { data: module } = await owner.ask('POST', `/courses/${data.id}/modules`, { title: part });
    for (const number of [1, 2, 3]) {
      const { data: lesson } = await owner.ask('POST', `/modules/${module.id}/lessons`, {
        title: `${part} ${number}`,
        points: number,
        published: true,
      });
      if (number === 1)
        await owner.ask('POST', `/lessons/${lesson.id}/assignments`, { prompt: `Tie a knot for ${part}` });
    }
  }
  await owner.ask('PATCH', `/courses/${data.id}`, { status: 'published' });
  return data;
}
