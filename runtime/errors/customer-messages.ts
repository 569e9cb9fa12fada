import { ERROR_CODES, isErrorCode } from './codes';

/** Why a customer gets no answer, as far as a customer is to know. */
type Case = 'approval' | 'limit' | 'later' | 'cancelled' | 'other';
type Language = 'en' | 'de' | 'es' | 'fr' | 'pt' | 'uk' | 'ru';

const MESSAGES: Readonly<Record<Language, Readonly<Record<Case, string>>>> = {
  en: {
    approval: 'This request needs an approval before I can continue.',
    limit: 'A usage limit has been reached, so I cannot answer right now. Please try again later or contact us.',
    later: 'I cannot answer right now. Please try again in a few minutes.',
    cancelled: 'The request was cancelled.',
    other: 'Something went wrong and I could not answer. Please try again or contact us.',
  },
  de: {
    approval: 'Diese Anfrage muss freigegeben werden, bevor ich fortfahren kann.',
    limit:
      'Das Nutzungslimit ist erreicht, deshalb kann ich gerade nicht antworten. Bitte versuchen Sie es später noch einmal oder wenden Sie sich an uns.',
    later: 'Ich kann gerade nicht antworten. Bitte versuchen Sie es in ein paar Minuten noch einmal.',
    cancelled: 'Die Anfrage wurde abgebrochen.',
    other:
      'Es ist ein Fehler aufgetreten, und ich konnte nicht antworten. Bitte versuchen Sie es noch einmal oder wenden Sie sich an uns.',
  },
  es: {
    approval: 'Esta solicitud necesita una aprobación antes de que pueda continuar.',
    limit:
      'Se ha alcanzado el límite de uso y ahora no puedo responder. Inténtelo más tarde o póngase en contacto con nosotros.',
    later: 'Ahora mismo no puedo responder. Inténtelo de nuevo dentro de unos minutos.',
    cancelled: 'La solicitud se ha cancelado.',
    other: 'Se ha producido un error y no he podido responder. Inténtelo de nuevo o póngase en contacto con nosotros.',
  },
  fr: {
    approval: 'Cette demande doit être approuvée avant que je puisse continuer.',
    limit:
      "La limite d'utilisation est atteinte et je ne peux pas répondre pour le moment. Veuillez réessayer plus tard ou nous contacter.",
    later: 'Je ne peux pas répondre pour le moment. Veuillez réessayer dans quelques minutes.',
    cancelled: 'La demande a été annulée.',
    other: "Une erreur s'est produite et je n'ai pas pu répondre. Veuillez réessayer ou nous contacter.",
  },
  pt: {
    approval: 'Este pedido precisa de aprovação antes que eu possa continuar.',
    limit: 'O limite de uso foi atingido e não posso responder agora. Tente novamente mais tarde ou entre em contato.',
    later: 'Não posso responder agora. Tente novamente em alguns minutos.',
    cancelled: 'O pedido foi cancelado.',
    other: 'Ocorreu um erro e não pude responder. Tente novamente ou entre em contato.',
  },
  uk: {
    approval: 'Цей запит потребує схвалення, перш ніж я зможу продовжити.',
    limit: 'Ліміт використання вичерпано, тому зараз я не можу відповісти. Спробуйте пізніше або зв’яжіться з нами.',
    later: 'Зараз я не можу відповісти. Спробуйте ще раз за кілька хвилин.',
    cancelled: 'Запит скасовано.',
    other: 'Сталася помилка, і відповісти не вдалося. Спробуйте ще раз або зв’яжіться з нами.',
  },
  ru: {
    approval: 'Этот запрос требует одобрения, прежде чем я смогу продолжить.',
    limit: 'Лимит использования исчерпан, поэтому сейчас я не могу ответить. Попробуйте позже или свяжитесь с нами.',
    later: 'Сейчас я не могу ответить. Попробуйте ещё раз через несколько минут.',
    cancelled: 'Запрос отменён.',
    other: 'Произошла ошибка, и ответить не удалось. Попробуйте ещё раз или свяжитесь с нами.',
  },
};

/** The names of each language, in English and in itself, beside its code. */
const NAMES: Readonly<Record<Language, readonly string[]>> = {
  en: ['english'],
  de: ['german', 'deutsch'],
  es: ['spanish', 'español', 'espanol', 'castellano'],
  fr: ['french', 'français', 'francais'],
  pt: ['portuguese', 'português', 'portugues'],
  uk: ['ukrainian', 'українська'],
  ru: ['russian', 'русский'],
};

/** Case of each status of a result. */
const STATUSES = {
  awaiting_input: 'approval',
  budget_exceeded: 'limit',
  cancelled: 'cancelled',
  completed: 'other',
  max_iterations: 'other',
  failed: 'other',
} as const satisfies Readonly<Record<string, Case>>;
type Status = keyof typeof STATUSES;

const MAX_LANGUAGE_LENGTH = 60;
const LIMITS: readonly string[] = ['BUDGET_EXCEEDED', 'TENANT_RATE_LIMITED'];

/** Outcome of a run without an answer. */
export interface Unanswered {
  /** The code of its error. */
  readonly code?: string;
  readonly status?: string;
}

/** Sentences that replace the built-in ones, by error code or by status. */
export type OwnMessages = Readonly<Record<string, string>>;

/**
 * Returns the sentence that a customer reads in place of an answer. The first of `own` that has one for the code decides, then
 * the first that has one for the status, then the table, in English for an unknown language.
 *
 * @example customerMessage({ code: 'BUDGET_EXCEEDED' }, { language: 'de-AT' })
 */
export function customerMessage(
  { code = '', status = statusOf(code) }: Unanswered,
  { language, own = [] }: { readonly language?: string; readonly own?: readonly OwnMessages[] } = {},
): string {
  for (const key of [code, status]) {
    for (const messages of own) if (Object.hasOwn(messages, key)) return messages[key] as string;
  }
  return MESSAGES[languageOf(language)][caseOf(code, status)];
}

/** Returns true for an error code or a status. */
export const isMessageKey = (key: string): boolean => isErrorCode(key) || Object.hasOwn(STATUSES, key);

/** The status of a run that failed before it had one. */
function statusOf(code: string): Status {
  if (code === 'BUDGET_EXCEEDED') return 'budget_exceeded';
  return code === 'RUN_CANCELLED' ? 'cancelled' : 'failed';
}

function caseOf(code: string, status: string): Case {
  if (LIMITS.includes(code)) return 'limit';
  // Also RUN_TIMEOUT, with which a run has the status cancelled.
  if (isErrorCode(code) && (ERROR_CODES[code].retryable || ERROR_CODES[code].category === 'upstream')) return 'later';
  return Object.hasOwn(STATUSES, status) ? STATUSES[status as Status] : 'other';
}

/** Reads `de`, `de-AT`, `German` and `Deutsch (Österreich)`. */
function languageOf(text = ''): Language {
  const words =
    text
      .toLowerCase()
      .slice(0, MAX_LANGUAGE_LENGTH)
      .match(/\p{L}+/gu) ?? [];
  const isTag = /^\s*[a-z]{2}([-_][a-z]|\s*$)/i.test(text);
  const found = Object.entries(NAMES).find(
    ([code, names]) => (isTag && code === words[0]) || words.some((word) => names.includes(word)),
  );
  return (found?.[0] ?? 'en') as Language;
}
