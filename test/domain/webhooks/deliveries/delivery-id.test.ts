import { expect } from 'chai';
import fc from 'fast-check';
import { parse, validate, version } from 'uuid';
import { idOfTime, leastIdOf, newId, timeOfId } from '../../../../platform/core/ids.ts';
import { deliveryIdOf, deliveryIdsOf } from '../../../../domain/webhooks/deliveries/delivery-id.ts';

const event = '01890a5d-ac96-774b-bcce-b302099a8057';

describe('the id of a delivery', () => {
  // Computed without our code: the SHA-256 of 32 bytes, with version 8 and the variant of RFC 9562.
  for (const [eventId, endpointId, id] of [
    [event, '01890a5d-ac97-7000-8000-000000000001', '01890a5d-ac96-8019-aa26-fabb3b5988a6'],
    [event, '01890a5d-ac97-7000-8000-000000000002', '01890a5d-ac96-8c85-bb6b-1b9500951836'],
    [
      '00000000-0000-7000-8000-000000000000',
      'ffffffff-ffff-7fff-bfff-ffffffffffff',
      '00000000-0000-8633-9d5c-bac07f9e414b',
    ],
  ] as const) {
    it(`is ${id} for event ${eventId} and endpoint ${endpointId}`, () => {
      expect(deliveryIdOf(eventId, endpointId)).to.equal(id);
    });
  }

  it('is a UUID of version 8 that contains the time of its event', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 2 }), (at) => {
        const eventId = idOfTime(at);
        const id = deliveryIdOf(eventId, newId());
        expect([validate(id), version(id), timeOfId(id)]).to.deep.equal([true, 8, at]);
        expect((parse(id)[8] ?? 0) >> 6).to.equal(0b10);
        const { from, to } = deliveryIdsOf(eventId);
        expect(from <= id && id < to).to.equal(true);
        expect([from, to]).to.deep.equal([leastIdOf(at), leastIdOf(at + 1)]);
      }),
    );
  });
});
