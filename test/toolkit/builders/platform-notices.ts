/** Notices of two sales platforms, copied from the documentation of the platforms. */

/** Hotmart 2.0.0, "purchase-webhook". */
export function hotmartPurchase(event: string): Record<string, unknown> {
  return {
    id: '545e7d21-8fc4-4906-8fba-dcd7889f6481',
    creation_date: 1_763_247_745_737,
    event,
    version: '2.0.0',
    data: {
      product: { id: 788_921, ucode: 'fb056612-bcc6-4217-9e6d-2a5d1110ac2f', name: 'Produto test postback2' },
      affiliates: [{ affiliate_code: 'Q58388177J', name: 'Affiliate name' }],
      buyer: {
        email: 'testeComprador271101postman15@example.com',
        name: 'Teste Comprador',
        checkout_phone: '99999999900',
        address: { city: 'Uberlândia', country: 'Brasil', country_iso: 'BR', zipcode: '38400123' },
        document: '69526128664',
        document_type: 'CPF',
      },
      producer: { name: 'Producer Test Name', document: '12345678965', legal_nature: 'Pessoa Física' },
      commissions: [{ value: 149.5, source: 'MARKETPLACE', currency_value: 'BRL' }],
      purchase: {
        approved_date: 1_511_783_346_000,
        full_price: { value: 1_500.5, currency_value: 'BRL' },
        price: { value: 1_500.5, currency_value: 'BRL' },
        order_date: 1_511_783_344_000,
        status: 'APPROVED',
        transaction: 'HP16015479281022',
        payment: { installments_number: 12, type: 'CREDIT_CARD' },
        offer: { code: 'test' },
      },
      subscription: {
        status: 'ACTIVE',
        plan: { id: 123, name: 'plano de teste' },
        subscriber: { code: 'I9OT62C3' },
      },
    },
  };
}

/** Hotmart 2.0.0, "cancel-subscription-webhook". */
export const hotmartCancellation: Record<string, unknown> = {
  id: 'a75428a4-7d61-4405-b86b-ecc5a84f9792',
  creation_date: 1_609_181_285_600,
  event: 'SUBSCRIPTION_CANCELLATION',
  version: '2.0.0',
  data: {
    date_next_charge: 1_617_105_600_000,
    product: { name: 'Product name com ç e á', id: 788_921 },
    actual_recurrence_value: 64.9,
    subscriber: { code: '0000aaaa', name: 'User name', email: 'test@hotmart.com.br' },
    subscription: { id: 4_148_584, plan: { name: 'Subscription Plan Name', id: 114_680 } },
    cancellation_date: 1_609_181_285_500,
  },
};

/** A notice of Kiwify, as the test function in Kiwify's dashboard sends it. */
export function kiwifyOrder(event: string): Record<string, unknown> {
  return {
    order_id: '3f5d1a9c-6c1e-4a5e-8e7b-0d2c4b6a8f10',
    order_ref: 'JlqSqjS',
    order_status: 'paid',
    product_type: 'membership',
    payment_method: 'credit_card',
    installments: 1,
    created_at: '2026-09-03 20:46',
    updated_at: '2026-09-04 20:46',
    approved_date: '2026-09-04 20:46',
    refunded_at: null,
    webhook_event_type: event,
    Product: { product_id: 'da157a91-80a4-4458-933c-41e965077f6a', product_name: 'Example product' },
    Customer: {
      full_name: 'John Doe',
      first_name: 'John',
      email: 'johndoe@example.com',
      mobile: '+5511999999999',
      CPF: '60862336702',
      ip: '55.100.126.37',
    },
    Commissions: {
      charge_amount: 6_426,
      product_base_price: 6_426,
      product_base_price_currency: 'BRL',
      kiwify_fee: 707,
      currency: 'BRL',
      commissioned_stores: [{ type: 'producer', email: 'example@store.domain', value: '5719' }],
      my_commission: 5_719,
    },
    subscription_id: '8b7e6d5c-4b3a-4291-8070-6f5e4d3c2b1a',
    Subscription: {
      id: '8b7e6d5c-4b3a-4291-8070-6f5e4d3c2b1a',
      start_date: '2026-09-04T23:46:00.000Z',
      next_payment: '2026-10-04T23:46:00.000Z',
      status: 'active',
      customer_access: { has_access: true, active_period: true, access_until: '2026-10-04T23:46:00.000Z' },
      plan: { id: 'plan', name: 'Mensal', frequency: 'monthly' },
    },
  };
}
