#ifndef JPEER_BENCH_CURVE_H
#define JPEER_BENCH_CURVE_H
/* The keys of measurements of CURVE: those that the manual of libzmq shows (zmq_curve(7)), so they are secret to nobody.
 * bench/trust.py has them, too. */
#define BENCH_CURVE_SERVER_KEY    "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define BENCH_CURVE_SERVER_SECRET "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"
#define BENCH_CURVE_CLIENT_KEY    "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
#define BENCH_CURVE_CLIENT_SECRET "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"

#endif
