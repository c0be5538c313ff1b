// SPDX-License-Identifier: GPL-2.0

#include <linux/sched/signal.h>
#include <net/sock.h>

#ifdef CONFIG_NET

__rust_helper void rust_helper_sock_hold(struct sock *sk)
{
	sock_hold(sk);
}

__rust_helper void rust_helper_sock_put(struct sock *sk)
{
	sock_put(sk);
}

__rust_helper struct net *rust_helper_sock_net(const struct sock *sk)
{
	return sock_net(sk);
}

__rust_helper wait_queue_head_t *rust_helper_sk_sleep(struct sock *sk)
{
	return sk_sleep(sk);
}

__rust_helper void rust_helper_sk_data_ready(struct sock *sk)
{
	sk->sk_data_ready(sk);
}

__rust_helper void rust_helper_sk_write_space(struct sock *sk)
{
	sk->sk_write_space(sk);
}

__rust_helper bool rust_helper_sock_writeable(const struct sock *sk)
{
	return sock_writeable(sk);
}

__rust_helper void rust_helper_sock_set_zerocopy(struct sock *sk)
{
	sock_set_flag(sk, SOCK_ZEROCOPY);
}

__rust_helper void rust_helper_sock_assign_xdp(struct sock *sk, bool xdp)
{
	sock_valbool_flag(sk, SOCK_XDP, xdp);
}

__rust_helper bool rust_helper_sock_test_and_set_nospace(struct socket *sock)
{
	return test_and_set_bit(SOCKWQ_ASYNC_NOSPACE, &sock->flags);
}

__rust_helper bool rust_helper_sock_test_and_clear_nospace(struct socket *sock)
{
	return test_and_clear_bit(SOCKWQ_ASYNC_NOSPACE, &sock->flags);
}

__rust_helper void rust_helper_wake_up_pollers_sync(wait_queue_head_t *wq,
						    __poll_t mask)
{
	/* A poller looks again after it is on the queue: see sock.rs. */
	if (wq && waitqueue_active(wq))
		wake_up_interruptible_sync_poll(wq, mask);
}

__rust_helper void rust_helper_init_socket_wait(struct socket *sock)
{
	init_waitqueue_head(&sock->wq.wait);
}

__rust_helper void rust_helper_init_wait_current(struct wait_queue_entry *wait)
{
	init_waitqueue_entry(wait, current);
}

__rust_helper void rust_helper_set_current_interruptible(void)
{
	set_current_state(TASK_INTERRUPTIBLE);
}

__rust_helper void rust_helper_set_current_running(void)
{
	__set_current_state(TASK_RUNNING);
}

__rust_helper int rust_helper_current_signal_pending(void)
{
	return signal_pending(current);
}

__rust_helper void rust_helper_lock_sock(struct sock *sk)
{
	lock_sock(sk);
}

__rust_helper void rust_helper_sk_error_queue_purge(struct sock *sk)
{
	skb_queue_purge(&sk->sk_error_queue);
}

__rust_helper void rust_helper_sk_write_queue_purge(struct sock *sk)
{
	skb_queue_purge(&sk->sk_write_queue);
}

__rust_helper void rust_helper_ubuf_complete_copied(struct ubuf_info *uarg)
{
	uarg->ops->complete(NULL, uarg, false);
}

#endif
