/**
 * Português do Brasil. Trata as pessoas por “você”.
 * Termos: lesson aula, classroom sala de aula, assignment trabalho, review avaliação, session sessão, space espaço, post publicação,
 * campaign news novidades, unsubscribe cancelar inscrição, e-mail e-mail, delete apagar.
 */
import type { Catalogue } from '../languages.ts';

export const ptBR: Catalogue = {
  'mail.greeting': 'Olá, {name},',
  'mail.greeting_without_name': 'Olá,',
  'mail.student_without_name': 'estudante',

  'mail.student_verify_email.subject': 'Confirme seu e-mail em {club}',
  'mail.student_verify_email.text':
    'Boas-vindas a {club}! Confirme seu endereço de e-mail em até 24 horas.\n\nSe não foi você, ignore esta mensagem: nada acontece sem o link.',
  'mail.student_verify_email.action': 'Confirmar meu e-mail',

  'mail.student_already_registered.subject': 'Você já tem uma conta em {club}',
  'mail.student_already_registered.text':
    'Alguém, provavelmente você, se cadastrou em {club} com este endereço de e-mail, que já tem uma conta. Entre com ela ou redefina a senha, caso a tenha esquecido.\n\nSe não foi você, ignore esta mensagem: nada foi alterado.',
  'mail.student_already_registered.action': 'Entrar',

  'mail.student_invitation.subject': 'Sua conta em {club}',
  'mail.student_invitation.text':
    '{club} criou uma conta para você. Confirme seu endereço de e-mail em até 7 dias para entrar.',
  'mail.student_invitation.action': 'Entrar na sala de aula',

  'mail.student_reset_password.subject': 'Redefina sua senha em {club}',
  'mail.student_reset_password.text':
    'Você tem uma hora para escolher uma nova senha.\n\nSe não foi você, ignore esta mensagem: nada acontece sem o link.',
  'mail.student_reset_password.action': 'Escolher uma nova senha',

  'mail.student_code.subject': '{code} é seu código de acesso a {club}',
  'mail.student_code.text':
    'Seu código de acesso é {code}. Você pode usá-lo por 10 minutos.\n\nNunca o informe a ninguém: nós não pedimos esse código.',

  'mail.student_address_changed.subject': 'O e-mail da sua conta em {club} foi alterado',
  'mail.student_address_changed.text':
    'A administração de {club} trocou o endereço de e-mail da sua conta. Não é mais possível entrar com este endereço.\n\nSe você não pediu essa mudança, escreva para {club}.',
  'mail.student_address_changed.action': 'Abrir a sala de aula',

  'mail.student_password_changed.subject': 'Sua senha em {club} foi alterada',
  'mail.student_password_changed.text':
    'A senha da sua conta em {club} foi alterada, e todas as suas outras sessões foram encerradas.\n\nSe não foi você, redefina sua senha agora na página de entrada.',
  'mail.student_password_changed.action': 'Ir para a página de entrada',

  'mail.student_new_device.subject': 'Nova entrada na sua conta em {club}',
  'mail.student_new_device.text':
    'Alguém entrou na sua conta em {club} com um dispositivo novo.\n\nDispositivo: {device}.\nRede: {network}.\nHorário: {at}.\n\nSe foi você, não precisa fazer nada. Se não foi, encerre essa sessão e mude sua senha.',
  'mail.student_new_device.action': 'Ver suas sessões',

  'mail.student_passkey_added.subject': 'Sua conta em {club} tem uma nova chave de acesso',
  'mail.student_passkey_added.text':
    'Sua conta em {club} tem uma nova chave de acesso. Com ela é possível entrar sem senha.\n\nSe não foi você, remova a chave, escolha uma nova senha e escreva para {club}.',
  'mail.student_passkey_added.action': 'Ver minhas chaves de acesso',

  'mail.student_passkey_removed.subject': 'Uma chave de acesso da sua conta em {club} foi removida',
  'mail.student_passkey_removed.text':
    'Uma chave de acesso da sua conta em {club} foi removida. Ninguém mais pode entrar com ela.\n\nSe não foi você, escolha uma nova senha e escreva para {club}.',
  'mail.student_passkey_removed.action': 'Ver minhas chaves de acesso',

  'mail.administrator_verify_email.subject': 'Confirme seu e-mail',
  'mail.administrator_verify_email.text':
    'Boas-vindas! Confirme seu endereço de e-mail em até 24 horas.\n\nSe não foi você, ignore esta mensagem: nada acontece sem o link.',
  'mail.administrator_verify_email.action': 'Confirmar meu e-mail',

  'mail.administrator_already_registered.subject': 'Você já tem uma conta',
  'mail.administrator_already_registered.text':
    'Alguém, provavelmente você, se cadastrou com este endereço de e-mail, que já tem uma conta. Entre com ela. Você pode criar outras organizações no painel.\n\nSe não foi você, ignore esta mensagem: nada foi alterado.',
  'mail.administrator_already_registered.action': 'Entrar',

  'mail.administrator_reset_password.subject': 'Redefina sua senha',
  'mail.administrator_reset_password.text':
    'Você tem uma hora para escolher uma nova senha.\n\nSe não foi você, ignore esta mensagem: nada acontece sem o link.',
  'mail.administrator_reset_password.action': 'Escolher uma nova senha',

  'mail.administrator_password_changed.subject': 'Sua senha foi alterada',
  'mail.administrator_password_changed.text':
    'A senha da sua conta foi alterada, e todas as suas outras sessões foram encerradas.\n\nSe não foi você, redefina sua senha agora na página de entrada.',
  'mail.administrator_password_changed.action': 'Ir para a página de entrada',

  'mail.administrator_new_device.subject': 'Nova entrada na sua conta',
  'mail.administrator_new_device.text':
    'Alguém entrou na sua conta com um dispositivo novo.\n\nDispositivo: {device}.\nRede: {network}.\nHorário: {at}.\n\nSe foi você, não precisa fazer nada. Se não foi, encerre essa sessão e mude sua senha.',
  'mail.administrator_new_device.action': 'Ver suas sessões',

  'mail.unknown_device': 'Desconhecido',
  'mail.unknown_network': 'Desconhecida',

  'phone.code': '{code} é o seu código. Ele vale por 10 minutos. Não o passe a ninguém.',

  'mail.administrator_invitation.subject': 'Convite para administrar {club}',
  'mail.administrator_invitation.text':
    'Você recebeu um convite para administrar {club}. O convite vale por 7 dias.\n\nSe você não esperava este convite, ignore esta mensagem: nada acontece sem o link.',
  'mail.administrator_invitation.action': 'Aceitar o convite',

  'mail.administrator_factor_added.subject': 'Um segundo fator foi adicionado à sua conta',
  'mail.administrator_factor_added.text':
    'Um segundo fator foi adicionado à sua conta. A partir de agora, cada entrada precisa de um segundo fator.\n\nSe não foi você, escolha uma nova senha e remova o fator.',
  'mail.administrator_factor_added.action': 'Ver seus segundos fatores',

  'mail.administrator_factor_removed.subject': 'Um segundo fator foi removido da sua conta',
  'mail.administrator_factor_removed.text':
    'Um segundo fator foi removido da sua conta. Ele não abre mais a sua conta.\n\nSe não foi você, escolha uma nova senha e veja seus segundos fatores.',
  'mail.administrator_factor_removed.action': 'Ver seus segundos fatores',

  'mail.administrator_recovery_code_used.subject': 'Um código de recuperação da sua conta foi usado',
  'mail.administrator_recovery_code_used.text':
    'Um código de recuperação substituiu o segundo fator da sua conta. Esse código não pode ser usado de novo. Se restarem poucos códigos, crie novos.\n\nSe não foi você, escolha uma nova senha e crie novos códigos de recuperação.',
  'mail.administrator_recovery_code_used.action': 'Ver seus códigos de recuperação',

  'mail.administrator_recovery_codes_replaced.subject': 'Sua conta tem novos códigos de recuperação',
  'mail.administrator_recovery_codes_replaced.text':
    'Novos códigos de recuperação foram criados para a sua conta. Os códigos anteriores não valem mais.\n\nSe não foi você, escolha uma nova senha e crie novos códigos de recuperação.',
  'mail.administrator_recovery_codes_replaced.action': 'Ver seus códigos de recuperação',

  'mail.administrator_identity_code.subject': '{code} é seu código para conectar seu acesso',
  'mail.administrator_identity_code.text':
    'Seu código é {code}. Você pode usá-lo por 15 minutos para conectar seu provedor de identidade à sua conta.\n\nNão o dê a ninguém. Se você não o pediu, pode ignorar esta mensagem: nada acontece sem o código.',

  'mail.administrator_identity_joined.subject': 'Agora você pode entrar com um provedor de identidade',
  'mail.administrator_identity_joined.text':
    'Um provedor de identidade foi conectado à sua conta. A partir de agora, você pode entrar com ele.\n\nSe não foi você, desconecte-o e escolha uma nova senha.',
  'mail.administrator_identity_joined.action': 'Ver as conexões',

  'mail.administrator_identity_removed.subject': 'Um provedor de identidade foi desconectado da sua conta',
  'mail.administrator_identity_removed.text':
    'Um provedor de identidade foi desconectado da sua conta. Você não pode mais entrar com ele.\n\nSe não foi você, escolha uma nova senha.',
  'mail.administrator_identity_removed.action': 'Ver as conexões',

  'mail.api_key_created.subject': 'Uma nova chave de API pode agir em nome de {club}',
  'mail.api_key_created.text':
    'Uma pessoa da administração criou uma chave de API para {club}. Um programa com essa chave pode ler ou alterar os dados que os escopos dela permitem.\n\nSe você não esperava por isso, revogue a chave.',
  'mail.api_key_created.action': 'Ver as chaves de API',

  'mail.club_erasure_requested.subject': '{club} será apagado em {at}',
  'mail.club_erasure_requested.text':
    'Um proprietário pediu que {club} seja apagado. Em {at}, o clube será apagado com todos os estudantes, cursos, arquivos e mensagens. Depois disso, ninguém poderá recuperá-lo.\n\nAté lá, o clube funciona como antes. Qualquer proprietário pode cancelar o pedido nas configurações do clube.',
  'mail.club_erasure_requested.action': 'Ver o pedido',

  'mail.club_erasure_reminder.subject': '{club} será apagado em três dias',
  'mail.club_erasure_reminder.text':
    'Em {at}, {club} será apagado com todos os estudantes, cursos, arquivos e mensagens. Depois disso, ninguém poderá recuperá-lo.\n\nSe o clube deve continuar, um proprietário precisa cancelar o pedido antes, nas configurações do clube.',
  'mail.club_erasure_reminder.action': 'Ver o pedido',

  'mail.club_erasure_canceled.subject': 'O pedido de apagar {club} foi cancelado',
  'mail.club_erasure_canceled.text':
    'Um proprietário cancelou o pedido de apagar {club}. O clube continua, e nada foi apagado.\n\nSe você não esperava isso, fale com os outros proprietários do clube.',
  'mail.club_erasure_canceled.action': 'Ver o clube',

  'mail.webhook_endpoint_failing.subject': 'Um endpoint de webhook de {club} foi desativado',
  'mail.webhook_endpoint_failing.text':
    '{url} não aceita nenhuma mensagem de {club} há cinco dias. Desativamos o endpoint e cancelamos as mensagens que estavam na fila.\n\nQuando ele voltar a funcionar, ative-o: os novos eventos passam a ser enviados, e você pode recuperar as entregas dos últimos 30 dias.',
  'mail.webhook_endpoint_failing.action': 'Ver o endpoint',

  'mail.webhook_endpoint_gone.subject': 'Um endpoint de webhook de {club} foi desativado',
  'mail.webhook_endpoint_gone.text':
    '{url} respondeu a uma mensagem de {club} com “410 Gone”. Desativamos o endpoint e cancelamos as mensagens que estavam na fila.\n\nSe o endereço ainda é usado, ative o endpoint: os novos eventos passam a ser enviados, e você pode recuperar as entregas dos últimos 30 dias.',
  'mail.webhook_endpoint_gone.action': 'Ver o endpoint',

  'mail.webhook_endpoint_throttled.subject': 'Um endpoint de webhook de {club} está falhando há uma hora',
  'mail.webhook_endpoint_throttled.text':
    '{url} não aceita nenhuma mensagem de {club} há uma hora. Tentamos uma mensagem por vez, e as outras esperam.\n\nElas serão enviadas assim que ele aceitar uma. Se não aceitar nenhuma em cinco dias, nós o desativamos.',
  'mail.webhook_endpoint_throttled.action': 'Ver o endpoint',

  'mail.assignment_approved.subject': 'Seu trabalho em {club} foi aprovado',
  'mail.assignment_approved.text':
    '{club} aprovou o trabalho que você entregou{has_lesson, select, yes { na aula “{lesson}”} other {}}.',
  'mail.assignment_approved.action': 'Ler a avaliação',

  'mail.assignment_changes_requested.subject': '{club} pede mudanças no seu trabalho',
  'mail.assignment_changes_requested.text':
    '{club} avaliou o trabalho que você entregou{has_lesson, select, yes { na aula “{lesson}”} other {}} e pede mudanças. Veja o que mudar e entregue-o de novo.',
  'mail.assignment_changes_requested.action': 'Ler a avaliação',

  'mail.media_expiring.subject': 'Os vídeos de {club} serão apagados em 7 dias',
  'mail.media_expiring.text':
    'O plano de {club} não inclui hospedagem de vídeos. Os vídeos da biblioteca serão apagados em 7 dias; a biblioteca mostra a data de cada um.\n\nBaixe os vídeos que você quer guardar. Com um plano que inclui hospedagem de vídeos, todos permanecem.',
  'mail.media_expiring.action': 'Ver os vídeos',

  'mail.mentorship_booked.subject': 'Sua sessão em {club}: {at}',
  'mail.mentorship_booked.text':
    '{has_title, select, yes {A sessão “{title}”} other {Sua sessão}}{has_person, select, yes { com {person}} other {}} está marcada para {at}.\n\nO convite para o seu calendário está em anexo. A página da sessão mostra onde será o encontro. Nela você também pode remarcar ou cancelar.',
  'mail.mentorship_booked.action': 'Ver a sessão',

  'mail.mentorship_canceled.subject': 'Sua sessão em {club} foi cancelada: {at}',
  'mail.mentorship_canceled.text':
    '{has_title, select, yes {A sessão “{title}”} other {Sua sessão}}{has_person, select, yes { com {person}} other {}} de {at} foi cancelada.',
  'mail.mentorship_canceled.action': 'Ver a sessão',

  'mail.mentorship_day_before.subject': 'Falta um dia para sua sessão em {club}: {at}',
  'mail.mentorship_day_before.text':
    '{has_title, select, yes {A sessão “{title}”} other {Sua sessão}}{has_person, select, yes { com {person}} other {}} está marcada para {at}.\n\nSe você não puder participar, remarque ou cancele na página da sessão.',
  'mail.mentorship_day_before.action': 'Ver a sessão',

  'mail.mentorship_hour_before.subject': 'Sua sessão em {club} já vai começar: {at}',
  'mail.mentorship_hour_before.text':
    '{has_title, select, yes {A sessão “{title}”} other {Sua sessão}}{has_person, select, yes { com {person}} other {}} já vai começar: {at}. A página da sessão mostra onde será o encontro.',
  'mail.mentorship_hour_before.action': 'Ver a sessão',

  'mail.mentorship_rating.subject': 'Como foi sua sessão em {club}?',
  'mail.mentorship_rating.text':
    '{has_title, select, yes {A sessão “{title}”} other {Sua sessão}}{has_person, select, yes { com {person}} other {}} de {at} terminou. Conte como foi: dê de uma a cinco estrelas e, se quiser, deixe um comentário.\n\nVocê pode avaliar por 30 dias.',
  'mail.mentorship_rating.action': 'Avaliar a sessão',

  'mail.mentorship_mentor_booked.subject': 'Uma sessão em {club} foi agendada: {at}',
  'mail.mentorship_mentor_booked.text':
    '{has_title, select, yes {A sessão “{title}”} other {Sua sessão}}{has_person, select, yes { com {person}} other {}} está marcada para {at}. O convite para o seu calendário está em anexo.',
  'mail.mentorship_mentor_booked.action': 'Ver a sessão',

  'mail.mentorship_mentor_canceled.subject': 'Uma sessão em {club} foi cancelada: {at}',
  'mail.mentorship_mentor_canceled.text':
    '{has_title, select, yes {A sessão “{title}”} other {Sua sessão}}{has_person, select, yes { com {person}} other {}} de {at} foi cancelada.',
  'mail.mentorship_mentor_canceled.action': 'Ver a sessão',

  'mail.mentorship_mentor_replaced.subject': 'Outra pessoa assumiu uma sessão em {club}: {at}',
  'mail.mentorship_mentor_replaced.text':
    '{has_title, select, yes {A sessão “{title}”} other {Sua sessão}}{has_person, select, yes { com {person}} other {}} de {at} foi remarcada, e agora é conduzida por outra pessoa. Você está livre nesse horário.',
  'mail.mentorship_mentor_replaced.action': 'Ver a sessão',

  'footer.unsubscribe': 'Cancelar inscrição',

  'digest.subject': '{count, plural, one {# nova publicação} other {# novas publicações}} em {club}',
  'digest.more_posts': '{count, plural, one {Mais # nova publicação} other {Mais # novas publicações}}',
  'digest.at_least_more_posts':
    '{count, plural, one {Pelo menos mais # nova publicação} other {Pelo menos mais # novas publicações}}',
  'digest.more_spaces':
    '{count, plural, one {Há novas publicações em mais # espaço.} other {Há novas publicações em mais # espaços.}}',
  'digest.post_without_words': 'Uma publicação sem texto',
  'digest.zone': 'Fuso horário: {zone}.',
  'digest.reason': 'Você recebe este e-mail diário porque você ou seu clube o ativou para esses espaços.',

  'test_mail.subject': '[Teste] {subject}',

  'calendar.session': 'Sessão de mentoria',
  'time.moment': '{day} às {time} ({zone})',
  'time.zone_with_offset': '{zone}, {offset}',

  'unsubscribe.question.title': 'Cancelar inscrição?',
  'unsubscribe.question.text':
    '{kind, select, campaigns {Você não receberá mais novidades de {club}.} automations {Você não receberá mais mensagens automáticas de {club}.} other {Você não receberá mais e-mails diários sobre novas publicações de {club}.}} As mensagens que você pedir, como um código de acesso, continuarão chegando.',
  'unsubscribe.action':
    '{kind, select, campaigns {Não receber novidades} automations {Não receber mensagens automáticas} other {Não receber e-mails diários sobre novas publicações}}',
  'unsubscribe.done.title': 'Inscrição cancelada',
  'unsubscribe.done.text':
    '{kind, select, campaigns {{club} não envia mais novidades a você.} automations {{club} não envia mais mensagens automáticas a você.} other {{club} não envia mais a você e-mails diários sobre novas publicações.}} Um e-mail que já foi enviado ainda pode chegar.',
  'unsubscribe.done.action': 'Voltar a receber',
  'unsubscribe.again.title': 'Inscrição reativada',
  'unsubscribe.again.text':
    '{kind, select, campaigns {{club} volta a enviar novidades a você.} automations {{club} volta a enviar mensagens automáticas a você.} other {{club} volta a enviar a você e-mails diários sobre novas publicações.}}',
  'unsubscribe.other.subscribed':
    '{kind, select, campaigns {Você recebe novidades de {club}.} automations {Você recebe mensagens automáticas de {club}.} other {Você recebe e-mails diários sobre novas publicações de {club}.}}',
  'unsubscribe.other.unsubscribed':
    '{kind, select, campaigns {Você não recebe novidades de {club}.} automations {Você não recebe mensagens automáticas de {club}.} other {Você não recebe e-mails diários sobre novas publicações de {club}.}}',
  'unsubscribe.broken.title': 'Este link não funciona',
  'unsubscribe.broken.text':
    'O endereço está incompleto ou foi alterado. Abra de novo o link do e-mail ou copie o endereço inteiro.',

  'certificate.title': 'Certificado de Conclusão',
  'certificate.certifies': 'Certificamos que',
  'certificate.has_completed': 'concluiu o curso',
  'certificate.completed_on': 'concluído em {day}',
  'certificate.date_of_issue': 'Data de emissão · versão {version}',
  'certificate.qr_code': 'QR code de {url}',
  'certificate.page_title': 'Certificado {code}',
  'certificate.valid.title': 'Este certificado é válido',
  'certificate.valid.text':
    'Compare o nome, o curso e a versão com os do certificado que mostraram a você: devem ser iguais.',
  'certificate.revoked.title': 'Este certificado foi revogado',
  'certificate.revoked.text': 'O clube que o emitiu o revogou. Ele não comprova mais nada.',
  'certificate.withdrawn.title': 'Este certificado foi retirado',
  'certificate.withdrawn.text':
    'Ele foi emitido, mas a conta da pessoa a quem pertencia foi removida, e o nome com ela.',
  'certificate.unknown.title': 'Certificado não encontrado',
  'certificate.unknown.state': 'Nenhum certificado tem este código',
  'certificate.unknown.text':
    'Compare o código do endereço com o impresso: doze letras e algarismos em três grupos de quatro. Maiúsculas, minúsculas, hífens e espaços não fazem diferença. Os caracteres 0, 1, I, L e O nunca aparecem.',
  'certificate.name': 'Concedido a',
  'certificate.course': 'Curso',
  'certificate.extent': 'Duração',
  'certificate.lessons': '{count, plural, one {# aula} other {# aulas}}',
  'certificate.hours': '{count, plural, one {# hora} other {# horas}}',
  'certificate.completed': 'Conclusão',
  'certificate.issued': 'Emissão',
  'certificate.revoked_on': 'Revogação',
  'certificate.version': 'Versão',
  'certificate.code': 'Código',
  'certificate.sample.student': 'Ana Exemplo',
  'certificate.sample.course': 'Nós para iniciantes',

  'page.busy.title': 'Agora não é possível',
  'page.busy.text': 'Tente de novo daqui a pouco.',

  'preview.title': 'Prévia: {subject}',
  'preview.of_nobody': 'Como fica para alguém de quem não se sabe nada.',
  'preview.of_student': 'A cópia para {name}.',
  'preview.note':
    'Uma prévia de {campaign}: ninguém recebeu este e-mail, nada é contado, e cancelar a inscrição não tem efeito.',
  'preview.plain_text': 'Texto sem formatação',
  'preview.mail': 'O e-mail',
  'preview.mail_on_phone': 'O e-mail no celular',
  'preview.too_large': 'O e-mail é grande demais para aparecer aqui: nesta página ele teria {bytes, number} bytes.',
  'preview.link_leads_nowhere': 'Não leva a lugar nenhum em uma prévia',
  'preview.gone.title': 'Esta prévia expirou',
  'preview.gone.text': 'Uma prévia fica visível por 15 minutos. Abra uma nova.',
  'preview.problems.title': 'Sem prévia',
  'preview.problems.text':
    'O e-mail foi alterado e agora tem problemas, ou é grande demais. Corrija-o e abra uma nova prévia.',
  'preview.rate_limited.title': 'Prévias demais',
  'preview.rate_limited.text': 'Espere um minuto e abra esta página de novo.',
  'preview.busy.text': 'Há muita coisa em andamento neste clube. Abra esta página de novo daqui a pouco.',

  'answer.model_unavailable': 'Não foi possível falar com o assistente. Pergunte de novo.',
  'answer.model_overloaded': 'O assistente está sobrecarregado. Pergunte de novo daqui a pouco.',
  'answer.model_rejected': 'O assistente não pôde aceitar esta pergunta.',
  'answer.interrupted': 'A resposta foi interrompida. Pergunte de novo.',
  'answer.model_silent': 'O assistente parou de responder. Pergunte de novo.',
  'answer.internal_error': 'Não foi possível concluir a resposta. Pergunte de novo.',
  'answer.conversation_deleted': 'A conversa foi apagada.',
  'answer.student_removed': 'A conta foi removida.',

  'refusal.no_place_for_students': 'Este clube não pode receber mais estudantes no momento. Fale com o clube.',
  'refusal.no_room_for_files': 'Este clube não tem espaço para mais arquivos no momento. Fale com o clube.',
  'refusal.not_offered': 'Este clube não oferece isso no momento. Fale com o clube.',

  'refusal.daily_limit_reached':
    'Este assistente aceita {count, plural, one {# pergunta} many {# de perguntas} other {# perguntas}} de cada estudante em 24 horas.',
  'refusal.ai_budget_spent': 'O orçamento de IA do clube para este mês acabou. Pergunte no próximo mês.',
  'refusal.ai_budget_reserved':
    'O que resta do orçamento de IA do clube está reservado para respostas em andamento. Pergunte de novo daqui a pouco.',
  'refusal.no_access_to_agent': 'Você não tem acesso a este assistente.',
  'refusal.answer_in_progress': 'Esta conversa está respondendo a outra pergunta.',
  'refusal.too_many_answers_followed': 'Você já acompanha o máximo de respostas ao mesmo tempo.',
  'refusal.answers_of_club_followed':
    'Muitas respostas deste clube estão em andamento agora. Tente de novo daqui a pouco.',
  'refusal.answers_followed': 'Muitas respostas estão em andamento agora. Tente de novo daqui a pouco.',

  'refusal.too_many_images':
    'Você tem {count, plural, one {# imagem} many {# de imagens} other {# imagens}} sem pergunta. Use primeiro alguma delas em uma pergunta.',
  'refusal.too_many_avatar_uploads':
    'Você começou {count, plural, one {# envio} many {# de envios} other {# envios}} em 15 minutos. Espere alguns minutos.',
  'refusal.too_many_unsent_files':
    'Você tem {count, plural, one {# arquivo} many {# de arquivos} other {# arquivos}} sem enviar. Envie primeiro alguns deles; os outros são apagados após 7 dias.',
  'refusal.too_many_post_files':
    'Você tem {count, plural, one {# arquivo} many {# de arquivos} other {# arquivos}} fora de publicações. Publique primeiro alguns deles; os outros são apagados após 7 dias.',
  'refusal.file_in_sent_work':
    'O arquivo faz parte de um trabalho que você enviou. Retire primeiro o trabalho, enquanto ele espera a avaliação.',
  'refusal.file_not_arrived': 'O arquivo ainda não chegou, ou não chegou inteiro. Envie-o de novo.',
  'refusal.upload_ended': 'O arquivo já chegou, ou o envio falhou.',
  'refusal.upload_too_slow': 'O envio demorou demais. Comece de novo.',
  'refusal.archive_not_ready': 'Um arquivo ainda está sendo verificado. Tente de novo daqui a pouco.',
  'refusal.nothing_to_download': 'Não há arquivos para baixar aqui.',

  'refusal.no_access_to_space': 'Você não tem acesso a este espaço.',
  'refusal.not_admitted_to_space': 'Você não pode entrar neste espaço.',
  'refusal.join_space_first': 'Entre primeiro no espaço.',
  'refusal.administrators_post': 'Neste espaço, só a administração publica.',
  'refusal.author_alone': 'Só quem escreveu pode fazer isso.',
  'refusal.post_locked': 'A publicação não aceita mais comentários.',
  'refusal.already_reported': 'Você já denunciou isto.',

  'refusal.slot_taken': 'Já há outra sessão nesse horário.',
  'refusal.slot_gone': 'Nenhuma sessão que se possa reservar começa nesse horário. Escolha outro horário.',
  'refusal.agenda_closed': 'A pauta de uma sessão pode ser escrita até o início dela.',
  'refusal.rating_closed': 'Uma sessão que aconteceu pode ser avaliada por 30 dias após o fim.',
  'refusal.session_canceled': 'A sessão está cancelada.',
  'refusal.too_late_to_cancel': 'É tarde demais para cancelar ou mudar a sessão.',
  'refusal.booking_limit_reached': 'Você já tem o máximo de sessões futuras desta mentoria.',

  'refusal.assignment_open': 'A aula tem uma tarefa obrigatória que ainda não foi aprovada.',
  'refusal.assignment_closed': 'A tarefa não aceita mais trabalhos.',
  'refusal.work_waits_for_review': 'Seu trabalho espera a avaliação. Retire-o para enviar outro.',
  'refusal.work_approved': 'Seu trabalho foi aprovado.',
  'refusal.work_changed': 'Este envio não é o último, ou não espera mais uma avaliação. Abra o trabalho de novo.',

  'refusal.invalid_credentials': 'O e-mail ou a senha está incorreta.',
  'refusal.email_not_verified':
    'Confirme primeiro seu e-mail, com o link que está na sua caixa de entrada; se você já tinha uma conta, redefina a senha.',
  'refusal.password_short':
    'A senha tem {count, plural, one {# caractere} many {# de caracteres} other {# caracteres}}; ela precisa ter pelo menos {least}.',
  'refusal.password_repeats': 'A senha repete poucos caracteres; escolha outra.',
  'refusal.password_known':
    'A senha é uma das primeiras que se tentam adivinhar, ou parecida com uma delas; escolha outra.',
  'refusal.password_personal': 'A senha é pouco mais que seu e-mail, seu nome ou o nome do clube; escolha outra.',
  'refusal.passkey_limit_reached': 'Sua conta já tem todas as chaves de acesso que pode ter. Remova uma primeiro.',
  'refusal.passkey_refused': 'Esta chave de acesso não foi aceita. Tente de novo ou entre de outra forma.',
  'refusal.password_exists': 'A conta já tem uma senha. Para mudá-la, redefina a senha.',
  'refusal.token_gone': 'Este link ou código não é válido: já foi usado, expirou ou nunca existiu.',
  'refusal.registration_link_used_up': 'O link de inscrição atingiu seu limite de usos.',
  'refusal.too_many_sign_ups':
    'Muitas pessoas se inscreveram há pouco sem confirmar. Tente de novo em {minutes, plural, one {# minuto} many {# de minutos} other {# minutos}}.',
  'refusal.too_many_sign_ups_of_network':
    'Muitas pessoas se inscreveram há pouco pela sua rede sem confirmar. Tente de novo em {minutes, plural, one {# minuto} many {# de minutos} other {# minutos}}.',
  'refusal.too_many_tries':
    'Houve tentativas erradas demais. Tente de novo em {minutes, plural, one {# minuto} many {# de minutos} other {# minutos}}.',

  'refusal.rate_limited':
    'Você fez isto vezes demais. Tente de novo em {minutes, plural, one {# minuto} many {# de minutos} other {# minutos}}.',
  'refusal.busy': 'Há muita coisa em andamento. Tente de novo daqui a pouco.',
  'refusal.internal_error': 'Algo deu errado do nosso lado. Número do pedido: {id}',
  'refusal.not_found': 'Isto não está mais aqui, ou você não pode vê-lo.',
  'refusal.unauthenticated': 'Entre de novo na sua conta.',
  'refusal.certificate_revoked': 'O certificado foi revogado.',
  'refusal.image_not_ready': 'Uma imagem ainda não está pronta ou não existe mais.',
  'refusal.file_not_ready': 'Um arquivo ainda não está pronto, já foi enviado ou não existe mais.',
};
