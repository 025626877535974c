/**
 * العربية الفصحى الحديثة، بصياغة لا تفترض جنس القارئ قدر الإمكان: «نرجو» مع المصدر بدل فعل الأمر.
 * المصطلحات: lesson درس، classroom الصف، assignment واجب، review مراجعة، session جلسة، space مساحة، post منشور،
 * campaign news أخبار، unsubscribe إلغاء الاشتراك، e-mail رسالة، version نسخة، delete حذف.
 */
import type { Catalogue } from '../languages.ts';

export const ar: Catalogue = {
  'mail.greeting': 'مرحبًا {name}،',
  'mail.greeting_without_name': 'مرحبًا،',
  'mail.student_without_name': 'أصدقاءنا',

  'mail.student_verify_email.subject': 'تأكيد بريدك الإلكتروني في {club}',
  'mail.student_verify_email.text':
    'أهلًا بك في {club}! نرجو تأكيد بريدك الإلكتروني خلال 24 ساعة.\n\nإذا لم تكن هذه الرسالة بطلب منك، فيمكنك تجاهلها: لن يحدث شيء دون الرابط.',
  'mail.student_verify_email.action': 'تأكيد بريدي الإلكتروني',

  'mail.student_already_registered.subject': 'لديك حساب بالفعل في {club}',
  'mail.student_already_registered.text':
    'جرى التسجيل في {club} بهذا البريد الإلكتروني، وربما كان ذلك بطلب منك، غير أن له حسابًا بالفعل. يمكنك تسجيل الدخول به، أو إعادة تعيين كلمة المرور في حال نسيانها.\n\nإذا لم يكن ذلك بطلب منك، فيمكنك تجاهل هذه الرسالة: لم يتغير شيء.',
  'mail.student_already_registered.action': 'تسجيل الدخول',

  'mail.student_invitation.subject': 'حسابك في {club}',
  'mail.student_invitation.text': 'أنشأ {club} حسابًا لك. للدخول، نرجو تأكيد بريدك الإلكتروني خلال 7 أيام.',
  'mail.student_invitation.action': 'دخول الصف',

  'mail.student_reset_password.subject': 'إعادة تعيين كلمة مرورك في {club}',
  'mail.student_reset_password.text':
    'يمكنك اختيار كلمة مرور جديدة خلال الساعة القادمة.\n\nإذا لم تكن هذه الرسالة بطلب منك، فيمكنك تجاهلها: لن يحدث شيء دون الرابط.',
  'mail.student_reset_password.action': 'اختيار كلمة مرور جديدة',

  'mail.student_code.subject': '{code} هو رمز دخولك إلى {club}',
  'mail.student_code.text':
    'رمز دخولك هو {code}. يمكنك استخدامه لمدة 10 دقائق.\n\nنرجو عدم مشاركته مع أي أحد: نحن لا نطلبه أبدًا.',

  'mail.student_address_changed.subject': 'تغيّر البريد الإلكتروني لحسابك في {club}',
  'mail.student_address_changed.text':
    'غيّرت إدارة {club} البريد الإلكتروني لحسابك. لم يعد ممكنًا تسجيل الدخول بهذا البريد.\n\nإذا لم يكن ذلك بطلب منك، فنرجو مراسلة {club}.',
  'mail.student_address_changed.action': 'فتح الصف',

  'mail.student_password_changed.subject': 'تغيّرت كلمة مرورك في {club}',
  'mail.student_password_changed.text':
    'تغيّرت كلمة مرور حسابك في {club}، وانتهت كل جلساتك الأخرى.\n\nإذا لم يكن ذلك بطلب منك، فيمكنك إعادة تعيين كلمة المرور الآن من صفحة تسجيل الدخول.',
  'mail.student_password_changed.action': 'الانتقال إلى صفحة تسجيل الدخول',

  'mail.student_new_device.subject': 'تسجيل دخول جديد إلى حسابك في {club}',
  'mail.student_new_device.text':
    'جرى تسجيل الدخول إلى حسابك في {club} من جهاز جديد.\n\nالجهاز: {device}.\nالشبكة: {network}.\nالوقت: {at}.\n\nإذا كان ذلك بطلب منك، فلا يلزمك شيء. وإلا فيمكنك إنهاء هذه الجلسة وتغيير كلمة المرور.',
  'mail.student_new_device.action': 'عرض جلساتك',

  'mail.student_passkey_added.subject': 'أُضيف مفتاح مرور إلى حسابك في {club}',
  'mail.student_passkey_added.text':
    'لحسابك في {club} مفتاح مرور جديد، ويمكن به تسجيل الدخول دون كلمة مرور.\n\nإذا لم يكن ذلك بطلب منك، فنرجو إزالة المفتاح واختيار كلمة مرور جديدة ومراسلة {club}.',
  'mail.student_passkey_added.action': 'عرض مفاتيح المرور',

  'mail.student_passkey_removed.subject': 'أُزيل مفتاح مرور من حسابك في {club}',
  'mail.student_passkey_removed.text':
    'أُزيل مفتاح مرور من حسابك في {club}، ولم يعد ممكنًا تسجيل الدخول به.\n\nإذا لم يكن ذلك بطلب منك، فنرجو اختيار كلمة مرور جديدة ومراسلة {club}.',
  'mail.student_passkey_removed.action': 'عرض مفاتيح المرور',

  'mail.administrator_verify_email.subject': 'تأكيد بريدك الإلكتروني',
  'mail.administrator_verify_email.text':
    'أهلًا بك! نرجو تأكيد بريدك الإلكتروني خلال 24 ساعة.\n\nإذا لم تكن هذه الرسالة بطلب منك، فيمكنك تجاهلها: لن يحدث شيء دون الرابط.',
  'mail.administrator_verify_email.action': 'تأكيد بريدي الإلكتروني',

  'mail.administrator_already_registered.subject': 'لديك حساب بالفعل',
  'mail.administrator_already_registered.text':
    'جرى التسجيل بهذا البريد الإلكتروني، وربما كان ذلك بطلب منك، غير أن له حسابًا بالفعل. يمكنك تسجيل الدخول به، وإنشاء مؤسسات أخرى من لوحة التحكم.\n\nإذا لم يكن ذلك بطلب منك، فيمكنك تجاهل هذه الرسالة: لم يتغير شيء.',
  'mail.administrator_already_registered.action': 'تسجيل الدخول',

  'mail.administrator_reset_password.subject': 'إعادة تعيين كلمة مرورك',
  'mail.administrator_reset_password.text':
    'يمكنك اختيار كلمة مرور جديدة خلال الساعة القادمة.\n\nإذا لم تكن هذه الرسالة بطلب منك، فيمكنك تجاهلها: لن يحدث شيء دون الرابط.',
  'mail.administrator_reset_password.action': 'اختيار كلمة مرور جديدة',

  'mail.administrator_password_changed.subject': 'تغيّرت كلمة مرورك',
  'mail.administrator_password_changed.text':
    'تغيّرت كلمة مرور حسابك، وانتهت كل جلساتك الأخرى.\n\nإذا لم يكن ذلك بطلب منك، فيمكنك إعادة تعيين كلمة المرور الآن من صفحة تسجيل الدخول.',
  'mail.administrator_password_changed.action': 'الانتقال إلى صفحة تسجيل الدخول',

  'mail.administrator_new_device.subject': 'تسجيل دخول جديد إلى حسابك',
  'mail.administrator_new_device.text':
    'جرى تسجيل الدخول إلى حسابك من جهاز جديد.\n\nالجهاز: {device}.\nالشبكة: {network}.\nالوقت: {at}.\n\nإذا كان ذلك بطلب منك، فلا يلزمك شيء. وإلا فيمكنك إنهاء هذه الجلسة وتغيير كلمة المرور.',
  'mail.administrator_new_device.action': 'عرض جلساتك',

  'mail.unknown_device': 'غير معروف',
  'mail.unknown_network': 'غير معروفة',

  'phone.code': 'رمزك هو {code}. يمكنك استخدامه خلال 10 دقائق. لا تشاركه مع أحد.',

  'mail.administrator_invitation.subject': 'دعوة للمشاركة في إدارة {club}',
  'mail.administrator_invitation.text':
    'هذه دعوة لك للمشاركة في إدارة {club}. يمكنك قبولها خلال 7 أيام.\n\nإذا لم تكن هذه الدعوة متوقعة، فيمكنك تجاهل هذه الرسالة: لن يحدث شيء دون الرابط.',
  'mail.administrator_invitation.action': 'قبول الدعوة',

  'mail.administrator_factor_added.subject': 'أضيف عامل تحقق ثانٍ إلى حسابك',
  'mail.administrator_factor_added.text':
    'أضيف عامل تحقق ثانٍ إلى حسابك. من الآن فصاعدًا يحتاج كل تسجيل دخول إلى عامل تحقق ثانٍ.\n\nإذا لم يكن ذلك بطلب منك، فاختر كلمة مرور جديدة وأزل عامل التحقق.',
  'mail.administrator_factor_added.action': 'عرض عوامل التحقق',

  'mail.administrator_factor_removed.subject': 'أزيل عامل تحقق ثانٍ من حسابك',
  'mail.administrator_factor_removed.text':
    'أزيل عامل تحقق ثانٍ من حسابك، ولم يعد يفتح حسابك.\n\nإذا لم يكن ذلك بطلب منك، فاختر كلمة مرور جديدة وراجع عوامل التحقق.',
  'mail.administrator_factor_removed.action': 'عرض عوامل التحقق',

  'mail.administrator_recovery_code_used.subject': 'استُخدم رمز استرداد لحسابك',
  'mail.administrator_recovery_code_used.text':
    'حلّ رمز استرداد محل عامل التحقق الثاني لحسابك. لا يمكن استخدام هذا الرمز مرة أخرى. إذا بقي لديك عدد قليل من الرموز، فأنشئ رموزًا جديدة.\n\nإذا لم يكن ذلك بطلب منك، فاختر كلمة مرور جديدة وأنشئ رموز استرداد جديدة.',
  'mail.administrator_recovery_code_used.action': 'عرض رموز الاسترداد',

  'mail.administrator_recovery_codes_replaced.subject': 'لحسابك رموز استرداد جديدة',
  'mail.administrator_recovery_codes_replaced.text':
    'أُنشئت رموز استرداد جديدة لحسابك، ولم تعد الرموز السابقة صالحة.\n\nإذا لم يكن ذلك بطلب منك، فاختر كلمة مرور جديدة وأنشئ رموز استرداد جديدة.',
  'mail.administrator_recovery_codes_replaced.action': 'عرض رموز الاسترداد',

  'mail.administrator_identity_code.subject': '{code} هو رمزك لربط تسجيل دخولك',
  'mail.administrator_identity_code.text':
    'رمزك هو {code}. يمكنك استخدامه لمدة 15 دقيقة لربط موفّر الهوية بحسابك.\n\nلا تعطه لأحد. إذا لم تطلبه فيمكنك تجاهل هذه الرسالة: لا يحدث شيء من دون الرمز.',

  'mail.administrator_identity_joined.subject': 'يمكنك الآن الدخول عبر موفّر هوية',
  'mail.administrator_identity_joined.text':
    'تم ربط موفّر هوية بحسابك. يمكنك من الآن الدخول عبره.\n\nإذا لم تكن أنت من فعل ذلك، فافصله واختر كلمة مرور جديدة.',
  'mail.administrator_identity_joined.action': 'عرض عمليات الربط',

  'mail.administrator_identity_removed.subject': 'تم فصل موفّر هوية عن حسابك',
  'mail.administrator_identity_removed.text':
    'تم فصل موفّر هوية عن حسابك. لم يعد بإمكانك الدخول عبره.\n\nإذا لم تكن أنت من فعل ذلك، فاختر كلمة مرور جديدة.',
  'mail.administrator_identity_removed.action': 'عرض عمليات الربط',

  'mail.api_key_created.subject': 'يمكن لمفتاح API جديد أن يعمل باسم {club}',
  'mail.api_key_created.text':
    'أنشأ أحد المشرفين مفتاح API خاصًا بـ {club}. يمكن لأي برنامج يحمل هذا المفتاح أن يقرأ البيانات التي تسمح بها صلاحياته أو أن يغيّرها.\n\nإن لم تكن تتوقع ذلك، فألغِ المفتاح.',
  'mail.api_key_created.action': 'عرض مفاتيح API',

  'mail.club_erasure_requested.subject': 'سيُحذف {club} يوم {at}',
  'mail.club_erasure_requested.text':
    'طلب أحد المالكين حذف {club}. في {at} يُحذف النادي مع كل الطلاب والدورات والملفات والرسائل، ولا يمكن لأحد استعادته بعد ذلك.\n\nيعمل النادي حتى ذلك الحين كالمعتاد. ويمكن لأي مالك إلغاء الحذف من إعدادات النادي.',
  'mail.club_erasure_requested.action': 'عرض الحذف',

  'mail.club_erasure_reminder.subject': 'سيُحذف {club} بعد ثلاثة أيام',
  'mail.club_erasure_reminder.text':
    'في {at} يُحذف {club} مع كل الطلاب والدورات والملفات والرسائل، ولا يمكن لأحد استعادته بعد ذلك.\n\nإذا كان يجب أن يبقى النادي، فعلى أحد المالكين إلغاء الحذف قبل ذلك من إعدادات النادي.',
  'mail.club_erasure_reminder.action': 'عرض الحذف',

  'mail.club_erasure_canceled.subject': 'أُلغي حذف {club}',
  'mail.club_erasure_canceled.text':
    'ألغى أحد المالكين حذف {club}. يبقى النادي، ولم يُحذف شيء.\n\nإذا لم تكن تتوقع ذلك، فتحدث إلى المالكين الآخرين للنادي.',
  'mail.club_erasure_canceled.action': 'عرض النادي',

  'mail.webhook_endpoint_failing.subject': 'تم تعطيل نقطة نهاية ويب هوك في {club}',
  'mail.webhook_endpoint_failing.text':
    'لم يقبل {url} أي رسالة من {club} منذ خمسة أيام. عطّلنا نقطة النهاية وألغينا الرسائل التي كانت في الانتظار.\n\nبعد عودتها إلى العمل يمكنك تفعيلها: عندئذ تُرسل الأحداث الجديدة، ويمكنك استعادة عمليات التسليم لآخر 30 يومًا.',
  'mail.webhook_endpoint_failing.action': 'عرض نقطة النهاية',

  'mail.webhook_endpoint_gone.subject': 'تم تعطيل نقطة نهاية ويب هوك في {club}',
  'mail.webhook_endpoint_gone.text':
    'أجاب {url} عن رسالة من {club} بالرد «\u2066410 Gone\u2069». عطّلنا نقطة النهاية وألغينا الرسائل التي كانت في الانتظار.\n\nإذا كان العنوان لا يزال مستخدمًا، فيمكنك تفعيل نقطة النهاية: عندئذ تُرسل الأحداث الجديدة، ويمكنك استعادة عمليات التسليم لآخر 30 يومًا.',
  'mail.webhook_endpoint_gone.action': 'عرض نقطة النهاية',

  'mail.webhook_endpoint_throttled.subject': 'نقطة نهاية ويب هوك في {club} متعثرة منذ ساعة',
  'mail.webhook_endpoint_throttled.text':
    'لم يقبل {url} أي رسالة من {club} منذ ساعة. نحاول إرسال رسالة واحدة في كل مرة، وتنتظر الرسائل الأخرى.\n\nستُرسل الرسائل حالما تُقبل إحداها. وإذا لم تُقبل أي رسالة خلال خمسة أيام، فسنعطّل نقطة النهاية.',
  'mail.webhook_endpoint_throttled.action': 'عرض نقطة النهاية',

  'mail.assignment_approved.subject': 'تم قبول واجبك في {club}',
  'mail.assignment_approved.text':
    'قبِل {club} الواجب الذي سلّمته{has_lesson, select, yes { في درس «{lesson}»} other {}}.',
  'mail.assignment_approved.action': 'قراءة المراجعة',

  'mail.assignment_changes_requested.subject': 'يطلب {club} تعديلات على واجبك',
  'mail.assignment_changes_requested.text':
    'راجع {club} الواجب الذي سلّمته{has_lesson, select, yes { في درس «{lesson}»} other {}}، ويطلب تعديلات عليه. نرجو قراءة المطلوب تعديله ثم إعادة تسليم الواجب.',
  'mail.assignment_changes_requested.action': 'قراءة المراجعة',

  'mail.media_expiring.subject': 'ستُحذف مقاطع الفيديو في {club} بعد 7 أيام',
  'mail.media_expiring.text':
    'لا تشمل خطة {club} استضافة الفيديو. ستُحذف مقاطع الفيديو من المكتبة بعد 7 أيام، وتعرض المكتبة تاريخ حذف كل مقطع.\n\nنرجو تنزيل المقاطع المراد الاحتفاظ بها. ومع خطة تشمل استضافة الفيديو تبقى جميع المقاطع.',
  'mail.media_expiring.action': 'عرض مقاطع الفيديو',

  'mail.mentorship_booked.subject': 'جلستك في {club}: {at}',
  'mail.mentorship_booked.text':
    'تبدأ {has_title, select, yes {جلسة «{title}»} other {جلستك}}{has_person, select, yes { مع {person}} other {}} يوم {at}.\n\nفي المرفقات موعد لإضافته إلى تقويمك. تبيّن صفحة الجلسة مكان اللقاء، ومنها يمكنك أيضًا تغيير الموعد أو إلغاؤه.',
  'mail.mentorship_booked.action': 'عرض الجلسة',

  'mail.mentorship_canceled.subject': 'أُلغيت جلستك في {club}: {at}',
  'mail.mentorship_canceled.text':
    'أُلغيت {has_title, select, yes {جلسة «{title}»} other {جلستك}}{has_person, select, yes { مع {person}} other {}} المقررة يوم {at}.',
  'mail.mentorship_canceled.action': 'عرض الجلسة',

  'mail.mentorship_day_before.subject': 'بقي يوم واحد على جلستك في {club}: {at}',
  'mail.mentorship_day_before.text':
    'تبدأ {has_title, select, yes {جلسة «{title}»} other {جلستك}}{has_person, select, yes { مع {person}} other {}} يوم {at}.\n\nإذا تعذّر حضورك، فنرجو تغيير الموعد أو إلغاءه من صفحة الجلسة.',
  'mail.mentorship_day_before.action': 'عرض الجلسة',

  'mail.mentorship_hour_before.subject': 'تبدأ جلستك في {club} قريبًا: {at}',
  'mail.mentorship_hour_before.text':
    'تبدأ {has_title, select, yes {جلسة «{title}»} other {جلستك}}{has_person, select, yes { مع {person}} other {}} يوم {at}. تبيّن صفحة الجلسة مكان اللقاء.',
  'mail.mentorship_hour_before.action': 'عرض الجلسة',

  'mail.mentorship_rating.subject': 'كيف كانت جلستك في {club}؟',
  'mail.mentorship_rating.text':
    'كانت {has_title, select, yes {جلسة «{title}»} other {جلستك}}{has_person, select, yes { مع {person}} other {}} يوم {at}. نرجو تقييمها من نجمة واحدة إلى خمس نجوم، مع تعليق إن أردت.\n\nيمكنك التقييم خلال 30 يومًا.',
  'mail.mentorship_rating.action': 'تقييم الجلسة',

  'mail.mentorship_mentor_booked.subject': 'حُجزت جلسة في {club}: {at}',
  'mail.mentorship_mentor_booked.text':
    'تبدأ {has_title, select, yes {جلسة «{title}»} other {جلستك}}{has_person, select, yes { مع {person}} other {}} يوم {at}. في المرفقات موعد لإضافته إلى تقويمك.',
  'mail.mentorship_mentor_booked.action': 'عرض الجلسة',

  'mail.mentorship_mentor_canceled.subject': 'أُلغيت جلسة في {club}: {at}',
  'mail.mentorship_mentor_canceled.text':
    'أُلغيت {has_title, select, yes {جلسة «{title}»} other {جلستك}}{has_person, select, yes { مع {person}} other {}} المقررة يوم {at}.',
  'mail.mentorship_mentor_canceled.action': 'عرض الجلسة',

  'mail.mentorship_mentor_replaced.subject': 'انتقلت جلسة في {club} إلى شخص آخر: {at}',
  'mail.mentorship_mentor_replaced.text':
    'تغيّر موعد {has_title, select, yes {جلسة «{title}»} other {جلستك}}{has_person, select, yes { مع {person}} other {}} المقررة يوم {at}، ويتولاها الآن شخص آخر. هذا الوقت متاح لديك.',
  'mail.mentorship_mentor_replaced.action': 'عرض الجلسة',

  'footer.unsubscribe': 'إلغاء الاشتراك',

  'digest.subject':
    '{count, plural, zero {لا منشورات جديدة} one {منشور جديد واحد} two {منشوران جديدان} few {# منشورات جديدة} many {# منشورًا جديدًا} other {# منشور جديد}} في {club}',
  'digest.more_posts':
    '{count, plural, zero {لا منشورات جديدة أخرى} one {منشور جديد آخر} two {منشوران جديدان آخران} few {# منشورات جديدة أخرى} many {# منشورًا جديدًا آخر} other {# منشور جديد آخر}}',
  'digest.at_least_more_posts':
    '{count, plural, zero {لا منشورات جديدة أخرى} one {منشور جديد آخر على الأقل} two {منشوران جديدان آخران على الأقل} few {# منشورات جديدة أخرى على الأقل} many {# منشورًا جديدًا آخر على الأقل} other {# منشور جديد آخر على الأقل}}',
  'digest.more_spaces':
    '{count, plural, zero {لا منشورات جديدة في مساحات أخرى.} one {هناك منشورات جديدة في مساحة أخرى.} two {هناك منشورات جديدة في مساحتين أخريين.} few {هناك منشورات جديدة في # مساحات أخرى.} many {هناك منشورات جديدة في # مساحة أخرى.} other {هناك منشورات جديدة في # مساحة أخرى.}}',
  'digest.post_without_words': 'منشور بلا نص',
  'digest.zone': 'المنطقة الزمنية: {zone}.',
  'digest.reason': 'تصلك هذه الرسالة اليومية لأنها مفعّلة لهذه المساحات، إما باختيارك أو من ناديك.',

  'test_mail.subject': '[تجربة] {subject}',

  'calendar.session': 'جلسة إرشاد',
  'time.moment': '{day} الساعة {time} ({zone})',
  'time.zone_with_offset': '{zone}، {offset}',

  'unsubscribe.question.title': 'إلغاء الاشتراك؟',
  'unsubscribe.question.text':
    '{kind, select, campaigns {لن تصلك أخبار {club} بعد الآن.} automations {لن تصلك الرسائل التلقائية من {club} بعد الآن.} other {لن تصلك الرسائل اليومية عن المنشورات الجديدة من {club} بعد الآن.}} أما الرسائل المرسلة بطلب منك، مثل رمز الدخول، فستظل تصلك.',
  'unsubscribe.action':
    '{kind, select, campaigns {إيقاف الأخبار} automations {إيقاف الرسائل التلقائية} other {إيقاف الرسائل اليومية عن المنشورات الجديدة}}',
  'unsubscribe.done.title': 'تم إلغاء اشتراكك',
  'unsubscribe.done.text':
    '{kind, select, campaigns {لم يعد {club} يرسل إليك الأخبار.} automations {لم يعد {club} يرسل إليك الرسائل التلقائية.} other {لم يعد {club} يرسل إليك الرسائل اليومية عن المنشورات الجديدة.}} قد تصلك رسالة أُرسلت من قبل.',
  'unsubscribe.done.action': 'الاشتراك من جديد',
  'unsubscribe.again.title': 'أُعيد تفعيل اشتراكك',
  'unsubscribe.again.text':
    '{kind, select, campaigns {سيرسل إليك {club} الأخبار من جديد.} automations {سيرسل إليك {club} الرسائل التلقائية من جديد.} other {سيرسل إليك {club} الرسائل اليومية عن المنشورات الجديدة من جديد.}}',
  'unsubscribe.other.subscribed':
    '{kind, select, campaigns {تصلك أخبار {club}.} automations {تصلك الرسائل التلقائية من {club}.} other {تصلك الرسائل اليومية عن المنشورات الجديدة من {club}.}}',
  'unsubscribe.other.unsubscribed':
    '{kind, select, campaigns {لا تصلك أخبار {club}.} automations {لا تصلك الرسائل التلقائية من {club}.} other {لا تصلك الرسائل اليومية عن المنشورات الجديدة من {club}.}}',
  'unsubscribe.broken.title': 'هذا الرابط لا يعمل',
  'unsubscribe.broken.text': 'العنوان ناقص أو جرى تغييره. نرجو فتح الرابط من الرسالة مرة أخرى، أو نسخه كاملًا.',

  'certificate.title': 'شهادة إتمام',
  'certificate.certifies': 'تُمنح هذه الشهادة إلى',
  'certificate.has_completed': 'لإتمام دورة',
  'certificate.completed_on': 'اكتملت في {day}',
  'certificate.date_of_issue': 'تاريخ الإصدار · النسخة {version}',
  'certificate.qr_code': 'رمز QR للعنوان {url}',
  'certificate.page_title': 'الشهادة {code}',
  'certificate.valid.title': 'هذه الشهادة صالحة',
  'certificate.valid.text': 'نرجو مقارنة الاسم والدورة والنسخة بالشهادة المعروضة عليك: يجب أن تتطابق.',
  'certificate.revoked.title': 'أُلغيت هذه الشهادة',
  'certificate.revoked.text': 'سحبها النادي الذي أصدرها، ولم تعد تثبت شيئًا.',
  'certificate.withdrawn.title': 'سُحبت هذه الشهادة',
  'certificate.withdrawn.text': 'صدرت هذه الشهادة، لكن الحساب المرتبط بها حُذف، وحُذف الاسم معه.',
  'certificate.unknown.title': 'لا توجد شهادة كهذه',
  'certificate.unknown.state': 'لا توجد شهادة بهذا الرمز',
  'certificate.unknown.text':
    'نرجو مقارنة الرمز الموجود في العنوان بالرمز المطبوع: اثنا عشر حرفًا ورقمًا في ثلاث مجموعات من أربعة. لا فرق بين الأحرف الكبيرة والصغيرة، ولا أثر للشرطات والمسافات. أما الرموز 0 و1 وI وL وO فلا ترد أبدًا.',
  'certificate.name': 'مُنحت إلى',
  'certificate.course': 'الدورة',
  'certificate.extent': 'المدة',
  'certificate.lessons':
    '{count, plural, zero {بلا دروس} one {درس واحد} two {درسان} few {# دروس} many {# درسًا} other {# درس}}',
  'certificate.hours':
    '{count, plural, zero {بلا ساعات} one {ساعة واحدة} two {ساعتان} few {# ساعات} many {# ساعة} other {# ساعة}}',
  'certificate.completed': 'تاريخ الإتمام',
  'certificate.issued': 'تاريخ الإصدار',
  'certificate.revoked_on': 'تاريخ الإلغاء',
  'certificate.version': 'النسخة',
  'certificate.code': 'الرمز',
  'certificate.sample.student': 'ليلى مثال',
  'certificate.sample.course': 'العُقَد للمبتدئين',

  'page.busy.title': 'تعذّر ذلك الآن',
  'page.busy.text': 'نرجو المحاولة مرة أخرى بعد قليل.',

  'preview.title': 'معاينة: {subject}',
  'preview.of_nobody': 'كما تظهر لشخص لا يُعرف عنه شيء.',
  'preview.of_student': 'النسخة الموجهة إلى {name}.',
  'preview.note': 'معاينة {campaign}: لم تُرسل إلى أحد، ولا يُحتسب شيء، وإلغاء الاشتراك فيها بلا أثر.',
  'preview.plain_text': 'نص عادي',
  'preview.mail': 'الرسالة',
  'preview.mail_on_phone': 'الرسالة على الهاتف',
  'preview.too_large': 'الرسالة أكبر من أن تُعرض هنا: سيبلغ حجمها في هذه الصفحة {bytes, number} بايت.',
  'preview.link_leads_nowhere': 'لا يؤدي إلى أي مكان في المعاينة',
  'preview.gone.title': 'انتهت هذه المعاينة',
  'preview.gone.text': 'تظل المعاينة متاحة لمدة 15 دقيقة. نرجو فتح معاينة جديدة.',
  'preview.problems.title': 'لا معاينة',
  'preview.problems.text': 'جرى تغيير الرسالة وفيها مشكلات الآن، أو أنها كبيرة جدًا. نرجو تصحيحها ثم فتح معاينة جديدة.',
  'preview.rate_limited.title': 'معاينات كثيرة جدًا',
  'preview.rate_limited.text': 'نرجو الانتظار دقيقة ثم فتح هذه الصفحة مرة أخرى.',
  'preview.busy.text': 'هناك أعمال كثيرة جارية لهذا النادي. نرجو فتح هذه الصفحة مرة أخرى بعد قليل.',

  'answer.model_unavailable': 'تعذّر الوصول إلى المساعد. نرجو طرح السؤال مرة أخرى.',
  'answer.model_overloaded': 'المساعد مشغول جدًا. نرجو طرح السؤال مرة أخرى بعد قليل.',
  'answer.model_rejected': 'لم يتمكن المساعد من قبول هذا السؤال.',
  'answer.interrupted': 'انقطعت الإجابة. نرجو طرح السؤال مرة أخرى.',
  'answer.model_silent': 'توقف المساعد عن الرد. نرجو طرح السؤال مرة أخرى.',
  'answer.internal_error': 'تعذّر إكمال الإجابة. نرجو طرح السؤال مرة أخرى.',
  'answer.conversation_deleted': 'حُذفت المحادثة.',
  'answer.student_removed': 'حُذف الحساب.',

  'refusal.no_place_for_students': 'لا يستطيع هذا النادي قبول المزيد من الطلاب في الوقت الحالي. نرجو التواصل مع النادي.',
  'refusal.no_room_for_files': 'لا يتسع هذا النادي لمزيد من الملفات في الوقت الحالي. نرجو التواصل مع النادي.',
  'refusal.not_offered': 'لا يوفر هذا النادي هذه الخدمة في الوقت الحالي. نرجو التواصل مع النادي.',

  'refusal.daily_limit_reached':
    'يقبل هذا المساعد من كل طالب {count, plural, zero {صفر أسئلة} one {سؤالًا واحدًا} two {سؤالين} few {# أسئلة} many {# سؤالًا} other {# سؤال}} خلال 24 ساعة.',
  'refusal.ai_budget_spent': 'نفدت ميزانية الذكاء الاصطناعي للنادي لهذا الشهر. نرجو طرح السؤال في الشهر القادم.',
  'refusal.ai_budget_reserved':
    'ما تبقى من ميزانية الذكاء الاصطناعي للنادي محجوز لإجابات قيد الكتابة. نرجو طرح السؤال مرة أخرى بعد قليل.',
  'refusal.no_access_to_agent': 'لا يمكنك الوصول إلى هذا المساعد.',
  'refusal.answer_in_progress': 'تجري في هذه المحادثة الإجابة عن سؤال آخر.',
  'refusal.too_many_answers_followed': 'بلغت الحد الأقصى من الإجابات التي يمكنك متابعتها في الوقت نفسه.',
  'refusal.answers_of_club_followed': 'هناك إجابات كثيرة جارية في هذا النادي الآن. نرجو المحاولة مرة أخرى بعد قليل.',
  'refusal.answers_followed': 'هناك إجابات كثيرة جارية الآن. نرجو المحاولة مرة أخرى بعد قليل.',

  'refusal.too_many_images':
    'لديك {count, plural, zero {صفر صور} one {صورة واحدة} two {صورتان} few {# صور} many {# صورة} other {# صورة}} لم تُستخدم في أي سؤال. نرجو طرح سؤال ببعضها أولًا.',
  'refusal.too_many_avatar_uploads':
    'بدأت {count, plural, zero {صفر عمليات رفع} one {عملية رفع واحدة} two {عمليتي رفع} few {# عمليات رفع} many {# عملية رفع} other {# عملية رفع}} خلال 15 دقيقة. نرجو الانتظار بضع دقائق.',
  'refusal.too_many_unsent_files':
    'لديك {count, plural, zero {صفر ملفات} one {ملف واحد} two {ملفان} few {# ملفات} many {# ملفًا} other {# ملف}} لم تُرسل بعد. نرجو إرسال بعضها أولًا، وسيُحذف الباقي بعد 7 أيام.',
  'refusal.too_many_post_files':
    'لديك {count, plural, zero {صفر ملفات} one {ملف واحد} two {ملفان} few {# ملفات} many {# ملفًا} other {# ملف}} لا تظهر في أي منشور. نرجو نشر بعضها أولًا، وسيُحذف الباقي بعد 7 أيام.',
  'refusal.file_in_sent_work': 'الملف جزء من عمل أرسلته. نرجو سحب العمل أولًا ما دام ينتظر المراجعة.',
  'refusal.file_not_arrived': 'لم يصل الملف بعد، أو لم يصل كاملًا. نرجو إرساله مرة أخرى.',
  'refusal.upload_ended': 'وصل الملف بالفعل، أو فشل رفعه.',
  'refusal.upload_too_slow': 'استغرق الرفع وقتًا طويلًا. نرجو البدء من جديد.',
  'refusal.archive_not_ready': 'ما زال أحد الملفات قيد الفحص. نرجو المحاولة مرة أخرى بعد قليل.',
  'refusal.nothing_to_download': 'لا توجد هنا ملفات للتنزيل.',

  'refusal.no_access_to_space': 'لا يمكنك الوصول إلى هذه المساحة.',
  'refusal.not_admitted_to_space': 'لا يمكنك الانضمام إلى هذه المساحة.',
  'refusal.join_space_first': 'نرجو الانضمام إلى المساحة أولًا.',
  'refusal.administrators_post': 'النشر في هذه المساحة للإدارة وحدها.',
  'refusal.author_alone': 'لا يفعل ذلك إلا صاحب النص.',
  'refusal.post_locked': 'لم يعد هذا المنشور يقبل التعليقات.',
  'refusal.already_reported': 'سبق أن أبلغت عن هذا.',

  'refusal.slot_taken': 'هناك جلسة أخرى في ذلك الوقت.',
  'refusal.slot_gone': 'لا تبدأ في ذلك الوقت جلسة يمكن حجزها. نرجو اختيار وقت آخر.',
  'refusal.agenda_closed': 'يمكن كتابة مواضيع الجلسة حتى بدايتها.',
  'refusal.rating_closed': 'يمكن تقييم الجلسة التي عُقدت خلال 30 يومًا من نهايتها.',
  'refusal.session_canceled': 'أُلغيت الجلسة.',
  'refusal.too_late_to_cancel': 'فات وقت إلغاء الجلسة أو تغيير موعدها.',
  'refusal.booking_limit_reached': 'بلغت الحد الأقصى من الجلسات القادمة في هذا الإرشاد.',

  'refusal.assignment_open': 'في هذا الدرس مهمة إلزامية لم تُقبل بعد.',
  'refusal.assignment_closed': 'لم تعد هذه المهمة تقبل أعمالًا.',
  'refusal.work_waits_for_review': 'عملك ينتظر المراجعة. يمكنك سحبه لإرسال عمل آخر.',
  'refusal.work_approved': 'تم قبول عملك.',
  'refusal.work_changed': 'هذه النسخة ليست الأخيرة، أو لم تعد تنتظر المراجعة. نرجو فتح العمل مرة أخرى.',

  'refusal.invalid_credentials': 'البريد الإلكتروني أو كلمة المرور غير صحيحة.',
  'refusal.email_not_verified':
    'نرجو تأكيد بريدك الإلكتروني أولًا بالرابط الموجود في صندوق بريدك؛ وإن كان لديك حساب من قبل فنرجو إعادة تعيين كلمة مروره.',
  'refusal.password_short':
    'في كلمة المرور {count, plural, zero {صفر أحرف} one {حرف واحد} two {حرفان} few {# أحرف} many {# حرفًا} other {# حرف}}؛ والحد الأدنى هو {least}.',
  'refusal.password_repeats': 'تكرر كلمة المرور أحرفًا قليلة؛ نرجو اختيار كلمة أخرى.',
  'refusal.password_known': 'كلمة المرور من أول ما يُخمَّن، أو قريبة منه؛ نرجو اختيار كلمة أخرى.',
  'refusal.password_personal':
    'كلمة المرور لا تكاد تزيد على بريدك الإلكتروني أو اسمك أو اسم النادي؛ نرجو اختيار كلمة أخرى.',
  'refusal.passkey_limit_reached': 'بلغ حسابك الحد الأقصى من مفاتيح المرور. نرجو إزالة أحدها أولًا.',
  'refusal.passkey_refused': 'لم يُقبل مفتاح المرور هذا. نرجو المحاولة مرة أخرى أو تسجيل الدخول بطريقة أخرى.',
  'refusal.password_exists': 'للحساب كلمة مرور بالفعل. لتغييرها نرجو إعادة تعيينها.',
  'refusal.token_gone': 'هذا الرابط أو الرمز غير صالح: فقد استُخدم أو انتهت صلاحيته أو لم يوجد قط.',
  'refusal.registration_link_used_up': 'بلغ رابط التسجيل الحد الأقصى من الاستخدام.',
  'refusal.too_many_sign_ups':
    'سجّل عدد كبير من الأشخاص مؤخرًا دون تأكيد. نرجو المحاولة مرة أخرى بعد {minutes, plural, zero {صفر دقائق} one {دقيقة واحدة} two {دقيقتين} few {# دقائق} many {# دقيقة} other {# دقيقة}}.',
  'refusal.too_many_sign_ups_of_network':
    'سجّل عدد كبير من الأشخاص من شبكتك مؤخرًا دون تأكيد. نرجو المحاولة مرة أخرى بعد {minutes, plural, zero {صفر دقائق} one {دقيقة واحدة} two {دقيقتين} few {# دقائق} many {# دقيقة} other {# دقيقة}}.',
  'refusal.too_many_tries':
    'كانت المحاولات الخاطئة كثيرة جدًا. نرجو المحاولة مرة أخرى بعد {minutes, plural, zero {صفر دقائق} one {دقيقة واحدة} two {دقيقتين} few {# دقائق} many {# دقيقة} other {# دقيقة}}.',

  'refusal.rate_limited':
    'تكرر هذا كثيرًا. نرجو المحاولة مرة أخرى بعد {minutes, plural, zero {صفر دقائق} one {دقيقة واحدة} two {دقيقتين} few {# دقائق} many {# دقيقة} other {# دقيقة}}.',
  'refusal.busy': 'هناك أعمال كثيرة جارية. نرجو المحاولة مرة أخرى بعد قليل.',
  'refusal.internal_error': 'حدث خطأ من جانبنا. رقم الطلب: {id}',
  'refusal.not_found': 'لم يعد هذا موجودًا هنا، أو لا يمكنك رؤيته.',
  'refusal.unauthenticated': 'نرجو تسجيل الدخول مرة أخرى.',
  'refusal.certificate_revoked': 'أُلغيت الشهادة.',
  'refusal.image_not_ready': 'إحدى الصور ليست جاهزة بعد، أو لم تعد موجودة.',
  'refusal.file_not_ready': 'أحد الملفات ليس جاهزًا بعد، أو أُرسل من قبل، أو لم يعد موجودًا.',
};
