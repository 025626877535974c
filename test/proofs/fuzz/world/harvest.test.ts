import { expect } from 'chai';
import type { OperationId } from '../../../../contract/contract.ts';
import { everyOperation, operationOf } from '../../../toolkit/drive/every-operation.ts';
import { kindOfParameter } from '../requests/record-kinds.ts';
import type { Json } from '../requests/step.ts';
import { harvestOf, textAt } from './harvest.ts';

const harvestedTemplates = (operation: OperationId, body: Json, path: Record<string, string> = {}) =>
  harvestOf(operationOf(operation), { name: 's1', operation, caller: 'owner', path }, body, 'own').map(
    ({ kind, template }) => `${kind} ${template}`,
  );

describe('test/proofs/fuzz/world/harvest', () => {
  it('returns the id of a record, the ids of the records in it, and its public id', () => {
    const modules = [{ id: 'm', lessons: [{ id: 'l', public_id: 'p' }] }];
    expect(
      harvestedTemplates('getCourse', { data: { id: 'c', public_id: 'knots', title: 'Knots', modules } }),
    ).to.deep.equal([
      'course {{s1/data/id}}',
      'course.public_id {{s1/data/public_id}}',
      'module {{s1/data/modules/0/id}}',
      'lesson {{s1/data/modules/0/lessons/0/id}}',
      'lesson.public_id {{s1/data/modules/0/lessons/0/public_id}}',
    ]);
  });

  it('finds ids by the names of properties, and finds each id in a list', () => {
    expect(
      harvestedTemplates('createProduct', { data: { id: 'p', delivery_ids: ['d', 'e'], external_id: 'x' } }),
    ).to.deep.equal([
      'product {{s1/data/id}}',
      'delivery {{s1/data/delivery_ids/0}}',
      'delivery {{s1/data/delivery_ids/1}}',
      'product.external_id {{s1/data/external_id}}',
    ]);
  });

  it('skips the name of a step, because the author of an automation chooses it', () => {
    const audience = { match: 'all', rules: [{ kind: 'email_opened', step_id: 'p' }] };
    expect(harvestedTemplates('getCampaign', { data: { id: 'c', audience } })).to.deep.equal([
      'campaign {{s1/data/id}}',
    ]);
  });

  it('distinguishes webhook deliveries from access deliveries', () => {
    expect(harvestedTemplates('sendTestWebhook', { data: { id: 'd', endpoint_id: 'e' } })).to.deep.equal([
      'webhook_delivery {{s1/data/id}}',
      'endpoint {{s1/data/endpoint_id}}',
    ]);
    expect(harvestedTemplates('listDeliveries', { data: [{ id: 'd' }], total: 1 })).to.deep.equal([
      'delivery {{s1/data/0/id}}',
    ]);
  });

  it('returns the question and the answer of a stream as records of their conversation', () => {
    const data = { conversation: { id: 'c' }, question: { id: 'q' }, answer: { id: 'a' } };
    const step = { name: 's1', operation: 'askAgent', caller: 'student', path: {} } as const;
    const entries = harvestOf(operationOf('askAgent'), step, [{ event: 'accepted', data }], 'own');
    expect(entries.map(({ kind }) => kind)).to.deep.equal(['conversation', 'message', 'message']);
    expect(entries.at(-1)?.parents).to.deep.equal({ conversationId: '{{s1/0/data/conversation/id}}' });
  });

  it('finds the text at a JSON pointer, and returns undefined if there is no text', () => {
    expect(textAt({ data: [{ id: 'x' }] }, '/data/0/id')).to.equal('x');
    for (const pointer of ['/data', '/data/1/id', '/other/id'])
      expect(textAt({ data: [] }, pointer)).to.equal(undefined);
  });

  it('finds the kind of an id in a path by the name of the parameter', () => {
    const kinds = new Set(
      everyOperation.flatMap((operation) =>
        operation.pathParameters
          .filter((name) => !['clubId', 'platform', 'provider', 'reaction', 'language'].includes(name))
          .map((name) => kindOfParameter(operation, name)),
      ),
    );
    expect([...kinds].toSorted()).to.deep.equal(
      `administrator agent agent.public_id assignment bulk_job campaign certificate certificate.code cohort comment connection
       connection.token conversation course course.public_id delivery endpoint enrollment erasure_token event export factor folder identity import invitation key lesson
       lesson.public_id level link link.code mail_link mail_opening mail_preview media mentorship mentorship.public_id message module notice notice_token passkey post.public_id post_comment
       product public_media report repository repository.public_id run session sign_in_session slug source space student submission suppression tag template version video way_out
       webhook_delivery workflow`.split(/\s+/),
    );
  });
});
