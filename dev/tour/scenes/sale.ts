/** A sale on a platform gives a student access. The student completes the course and gets a certificate that everyone can verify. */
import { randomBytes, randomUUID } from 'node:crypto';
import { Problem } from '../../problem.ts';
import { isSignedWith } from '../../clients/receiver.ts';
import { workIsReturnedAndApproved } from './assignment.ts';
import { lectureIsUploaded } from '../lecture.ts';
import { requireOk, runPage, tokenIn, until, type Club, type Scene } from '../scene.ts';
import type { Buyer } from './whole-club.ts';

const events = [
  'student.created',
  'purchase.paid',
  'access.granted',
  'lesson.completed',
  'course.completed',
  'certificate.issued',
] as const;

/** @returns links to further details, and the buyer */
export async function fromSaleToCertificate(
  scene: Scene,
  { clubId, token }: Club,
): Promise<{ notice: string; verifyUrl: string; buyer: Buyer }> {
  const { say, begin, tell, show, words, receiver, mailbox } = scene;
  const administrator = scene.client(token);
  const params = { path: { clubId } };

  begin(8, 'sale.course');
  const course = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/courses', {
      params,
      body: { title: 'Knots for Beginners', hours: 9, certificate_on_completion: true },
    }),
  ).data;
  const ofCourse = { path: { clubId, courseId: course.id } };
  const part = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/courses/{courseId}/modules', {
      params: ofCourse,
      body: { title: 'On deck' },
    }),
  ).data;
  const written: string[] = [];
  for (const title of ['Bends', 'Hitches']) {
    const lesson = requireOk(
      await administrator.POST('/v1/clubs/{clubId}/modules/{moduleId}/lessons', {
        params: { path: { clubId, moduleId: part.id } },
        body: { title, content: `# ${title}`, published: true },
      }),
    ).data;
    written.push(lesson.id);
  }
  await lectureIsUploaded(scene, { clubId, token }, written[0] ?? '');
  requireOk(
    await administrator.PATCH('/v1/clubs/{clubId}/courses/{courseId}', {
      params: ofCourse,
      body: { status: 'published' },
    }),
  );
  const delivery = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/deliveries', {
      params,
      body: { name: course.title, opens: { kind: 'course', course_id: course.id }, free: false },
    }),
  ).data;
  const product = `knots-${randomBytes(3).toString('hex')}`;
  requireOk(
    await administrator.POST('/v1/clubs/{clubId}/products', {
      params,
      body: {
        platform: 'generic',
        external_id: product,
        name: 'Knots, the box',
        delivery_ids: [delivery.id],
      },
    }),
  );
  const shop = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/sales-connections', {
      params,
      body: { platform: 'generic', name: 'The shop of the tour' },
    }),
  ).data;
  const registered = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/webhook-endpoints', {
      params,
      body: { url: `${receiver.url}/hooks/sale`, event_types: [...events] },
    }),
  ).data;

  begin(9, 'sale.notice');
  const email = `berta.${randomBytes(3).toString('hex')}@example.com`;
  const notice = {
    event: 'purchase.paid',
    occurred_at: new Date().toISOString(),
    product: { id: product },
    buyer: { email, name: 'Berta Brook' },
    purchase: { id: randomUUID(), amount: 4_900, currency: 'EUR' },
  };
  const address = { path: { platform: 'generic', token: shop.token } } as const;
  const anonymous = scene.quietClient();
  for (const _ of [1, 2]) {
    requireOk(await anonymous.POST('/webhooks/{platform}/{token}', { params: address, body: notice }));
    say('   POST /webhooks/generic/… → 202');
  }
  const quiet = scene.quietClient(token);
  const notices = await until('The processing of the notices', async () => {
    const { data } = requireOk(await quiet.GET('/v1/clubs/{clubId}/sales-notices', { params }));
    return data.every(({ status }) => status === 'processed') ? data : undefined;
  });

  begin(10, 'sale.buyer');
  const mail = await mailbox.waitFor(email);
  show(mailbox.linkTo(mail), 'sale.invitation');
  const { token: studentToken, student } = requireOk(
    await scene.client().POST('/v1/auth/verify-email', { body: { token: tokenIn(mail) } }),
  ).data;
  const classroom = scene.client(studentToken);
  const outline = requireOk(
    await classroom.GET('/v1/clubs/{clubId}/classroom/courses/{publicId}', {
      params: { path: { clubId, publicId: course.public_id } },
    }),
  ).data;
  const lessons = outline.modules.flatMap((module) => module.lessons);
  const [first] = lessons;
  if (first === undefined) throw new Problem('The course has no lesson.');
  const learner = { token: studentToken, email, lessonId: first.id, publicId: first.public_id };
  await workIsReturnedAndApproved(scene, { clubId, token }, learner);
  for (const { public_id: publicId } of lessons) {
    requireOk(
      await classroom.PUT('/v1/clubs/{clubId}/classroom/lessons/{publicId}/completion', {
        params: { path: { clubId, publicId } },
      }),
    );
  }
  const [certificate] = requireOk(await classroom.GET('/v1/clubs/{clubId}/classroom/certificates', { params })).data;
  if (certificate === undefined) throw new Problem('The completed course brought no certificate.');
  tell('sale.certificate', { name: student.name, code: certificate.code_formatted });

  begin(11, 'sale.verify');
  const verified = await fetch(certificate.verify_url, { headers: { accept: 'application/json' } });
  const verdict = (await verified.json()) as { data: { state: string; student_name?: string } };
  say(`   GET ${new URL(certificate.verify_url).pathname} → ${verified.status}: ${verdict.data.state}`);
  if (verdict.data.state !== 'valid') throw new Problem('The certificate does not verify.');
  const received = await until('The events of the sale', async () => {
    const requests = receiver.requests.filter(({ path }) => path === '/hooks/sale');
    return requests.length > events.length ? requests : undefined; // the course has two lessons, so one type of event arrives twice
  });
  for (const request of received) {
    if (!isSignedWith(registered.secret, request)) throw new Problem('A signature does not verify.');
    say(`   ${(JSON.parse(request.body.toString('utf8')) as { type: string }).type}  ✓ ${words('verified')}`);
  }
  const [processed] = notices;
  return {
    notice: runPage(scene, 'salesNotice', processed?.id ?? ''),
    verifyUrl: certificate.verify_url,
    buyer: { token: studentToken, name: student.name, email, shop: shop.token },
  };
}
